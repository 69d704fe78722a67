//! What a drive fetches commands by.

use flashloom_units::{Choice, Kind, OrName, Used, Value, choice, params};

choice! {
    /// Whose command the drive fetches next.
    pub enum Arbitration {
        /// Every submission queue in turn.
        RoundRobin = "round-robin",
        /// NVMe's weighted round robin with an urgent class: urgent queues first, the others by the weights of their
        /// classes.
        Weighted = "weighted",
    }
}

const BOUNDED: Option<Used> = Used::without("front_commands", &["none"]);
const WEIGHTED: Option<Used> = Used::with("front_arbiter", &["weighted"]);

const NO_LIMIT: Choice = Choice { name: "unlimited", help: "A turn goes on until the queue is empty." };

/// Of a weight: NVMe has a byte that counts from one.
const WEIGHT: Kind = Kind::Count { min: 1, max: 256 };

params! {
    /// Parameters of the front of the drive: keys of the `[device]` section.
    pub struct FrontParams {
        /// Most commands that the drive has fetched and not ended; others wait in the submission queue of their
        /// workload. Absent if it fetches each at once.
        commands: Option<u32> => "front_commands", Kind::Count { min: 1, max: 65_536 }, Value::Absent,
            "With few, the arbiter decides who waits; with many, the array does. A command that waits in its queue \
             keeps no chip busy." => Never;
        /// Order in which commands are fetched from the submission queues, one for each of several workloads.
        arbiter: Arbitration => "front_arbiter", Kind::Choice(Arbitration::CHOICES), Value::Name("round-robin"),
            "Round robin gives each queue as many commands, whatever their size; weights give the classes of queues \
             (workload.queue_class) shares.", BOUNDED => Never;
        /// Most commands in a row that are fetched from one queue: NVMe's arbitration burst, which is a power of two.
        burst: OrName<u32> => "front_burst", Kind::CountOr { min: 1, max: 64, or: NO_LIMIT }, Value::Count(1),
            "Long turns keep the commands of a sequence together, and let other queues wait.", BOUNDED => Never;
        /// Commands that queues of class high have in a round.
        high_weight: u32 => "front_high_weight", WEIGHT, Value::Count(1), "A class has its weight of all weights of \
             classes with commands.", WEIGHTED => Never;
        /// Commands that queues of class medium have in a round.
        medium_weight: u32 => "front_medium_weight", WEIGHT, Value::Count(1), "See front_high_weight.",
            WEIGHTED => Never;
        /// Commands that queues of class low have in a round.
        low_weight: u32 => "front_low_weight", WEIGHT, Value::Count(1), "See front_high_weight.", WEIGHTED => Never;
    }
}
