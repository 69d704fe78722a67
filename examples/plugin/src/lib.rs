//! A plugin for nbdkit with policies of one's own: those of `examples/policies`, beside the built-in ones.

flashloom_plugin::nbdkit!(flashloom_example_policies::registry);
