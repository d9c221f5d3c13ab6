//! Why a recipe does not apply.

/// Why a recipe does not apply, in a sentence and as a kind to count by.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{why}")]
pub struct Refusal {
    /// The kind.
    pub kind: RefusalKind,
    /// The sentence, without a full stop.
    pub why: String,
}

impl Refusal {
    /// A refusal of a kind.
    pub fn new(kind: RefusalKind, why: &str) -> Refusal {
        Refusal {
            kind,
            why: why.to_owned(),
        }
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $id:literal;)*) => {
        /// Kinds of refusals; their ids do not change.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum RefusalKind {
            $($(#[$doc])* $name,)*
        }

        impl RefusalKind {
            /// All kinds.
            pub const ALL: &'static [RefusalKind] = &[$(RefusalKind::$name),*];

            /// The id, in kebab case.
            pub const fn id(self) -> &'static str {
                match self {
                    $(RefusalKind::$name => $id,)*
                }
            }
        }
    };
}

kinds! {
    /// The program is not of the form recipes work on.
    Program = "program";
    /// A parameter of the step makes no sense here.
    Parameter = "parameter";
    /// The result would break a limit of the hardware.
    Limit = "limit";
    /// Threads work together: barriers, simdgroup operations, threadgroup memory.
    Cooperation = "cooperation";
    /// The program reads positions that the recipe does not follow.
    Positions = "positions";
    /// Control flow the recipe does not follow.
    Control = "control";
    /// Atomic operations whose order would change.
    Atomics = "atomics";
    /// Memory accesses the recipe does not follow.
    Access = "access";
    /// The geometry is not of the form the recipe needs.
    Geometry = "geometry";
    /// There is nothing in the program for the recipe to change.
    NothingToDo = "nothing-to-do";
}
