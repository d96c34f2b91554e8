//! Enumerations whose values have names, which stand beside them.

/// An enumeration with a method, such as `name`, that gives the text of each value.
#[macro_export]
macro_rules! named {
    ($(#[$of:meta])* pub enum $enum:ident by $name:ident { $($(#[$about:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$of])*
        pub enum $enum { $($(#[$about])* $value,)* }

        impl $enum {
            /// Each of them, in their order.
            pub const ALL: &'static [Self] = &[$(Self::$value,)*];

            /// The name of the value, as the protocol document has it.
            pub fn $name(self) -> &'static str {
                match self { $(Self::$value => $text,)* }
            }
        }
    };
}
