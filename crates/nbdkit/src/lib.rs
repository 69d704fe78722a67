//! The plugin for nbdkit with the policies that are built in.

use flashloom::config::registry::Registry;

flashloom_plugin::nbdkit!(|| Ok(Registry::builtin()));
