//! The registry of scripts. A store declares each script once, as a type whose fields are the
//! script's arguments. In the Lua text each argument is a local variable of the same name. The
//! libraries from `scripts/lib` are put in front of the text.

use crate::{RedisArgument, RedisScript, ScriptFamily, ScriptInvocation};

/// One call of a script. The script's own arguments are named fields.
pub trait ScriptCall: Sized {
    /// The family whose key, first arguments and libraries the script uses.
    type Family: ScriptFamily;

    /// Returns the script, which is assembled once.
    fn script() -> &'static RedisScript;

    /// Returns the arguments in the order of their declaration.
    fn arguments(self) -> Vec<RedisArgument>;

    /// Turns the call into an invocation that can be sent.
    fn prepare(self) -> ScriptInvocation<Self::Family> {
        ScriptInvocation::new(Self::script(), self.arguments())
    }
}

/// Declares a record: a type whose fields are consecutive arguments of a script.
#[macro_export]
macro_rules! script_record {
    (
        $(#[$doc:meta])*
        $vis:vis struct $Record:ident {
            $( $(#[$field_doc:meta])* $field:ident : $ty:ty, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        $vis struct $Record {
            $( $(#[$field_doc])* pub $field: $ty, )*
        }

        impl $crate::ScriptRecord for $Record {
            const NAMES: &'static [&'static str] = &[$(stringify!($field),)*];

            fn push_to(self, _arguments: &mut ::std::vec::Vec<$crate::RedisArgument>) {
                $( _arguments.push(self.$field.into()); )*
            }
        }
    };
}

/// Declares a family of scripts: the prefix of their names, the name of their key in Lua, their
/// libraries and their constants. The fields are the first arguments of every script.
#[macro_export]
macro_rules! script_family {
    (
        $(#[$doc:meta])*
        $vis:vis struct $Family:ident = $prefix:literal ($key:ident) [$($library:ident),*]
        where { $($constant:ident = $value:expr),* $(,)? }
        {
            $( $(#[$field_doc:meta])* $field:ident : $ty:ty, )*
        }
    ) => {
        $crate::script_record! {
            $(#[$doc])*
            $vis struct $Family {
                $( $(#[$field_doc])* $field: $ty, )*
            }
        }

        impl $crate::ScriptFamily for $Family {
            const KEY: &'static str = stringify!($key);
            const PREFIX: &'static str = $prefix;

            fn libraries() -> &'static [&'static str] {
                &[$(include_str!(concat!("scripts/lib/", stringify!($library), ".lua")),)*]
            }

            fn constants() -> ::std::string::String {
                let lines: &[::std::string::String] =
                    &[$(::std::format!("local {} = {}\n", stringify!($constant), $value),)*];
                lines.concat()
            }
        }
    };
}

/// Declares the scripts of a family. Each is `struct Name = file [libraries] { arguments }`. The
/// Lua text is `scripts/file.lua`, and the libraries are files of `scripts/lib`. Each argument is a
/// field. `..name: Record` adds the fields of a record. `[name]: Item` adds a list, which takes all
/// remaining arguments. The script walks over the list with `each_name()`, which yields each item:
/// a table with the names of the item's fields, or the value if the items are single values. `$all`
/// is the name of a function for tests, which returns all scripts.
#[macro_export]
macro_rules! redis_scripts {
    (
        family $Family:ident, all $all:ident;
        $(
            $(#[$doc:meta])*
            $vis:vis struct $Script:ident = $file:ident [$($library:ident),*] {
                $( $(#[$field_doc:meta])* $field:ident : $ty:ty, )*
                $( ..$shared:ident : $shared_ty:ty, )?
                $( [$list:ident] : $item:ty, )?
            }
        )*
    ) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone)]
            $vis struct $Script {
                $( $(#[$field_doc])* pub $field: $ty, )*
                $( pub $shared: $shared_ty, )?
                $( pub $list: ::std::vec::Vec<$item>, )?
            }

            impl $crate::ScriptCall for $Script {
                type Family = $Family;

                fn script() -> &'static $crate::RedisScript {
                    static SCRIPT: ::std::sync::LazyLock<$crate::RedisScript> =
                        ::std::sync::LazyLock::new(|| {
                            let names = $crate::ScriptArgumentNames {
                                single: &[$(stringify!($field),)*],
                                shared: $crate::redis_scripts!(
                                    @names $(<$shared_ty as $crate::ScriptRecord>::NAMES)?
                                ),
                                list: $crate::redis_scripts!(
                                    @list $($list <$item as $crate::ScriptRecord>::NAMES)?
                                ),
                            };
                            $crate::RedisScript::assemble::<$Family>(
                                stringify!($file),
                                names,
                                &[$(include_str!(
                                    concat!("scripts/lib/", stringify!($library), ".lua")
                                ),)*],
                                include_str!(concat!("scripts/", stringify!($file), ".lua")),
                            )
                        });
                    &SCRIPT
                }

                fn arguments(self) -> ::std::vec::Vec<$crate::RedisArgument> {
                    #[allow(unused_mut, reason = "a script may have no arguments of its own")]
                    let mut arguments = ::std::vec![$(self.$field.into(),)*];
                    $( $crate::ScriptRecord::push_to(self.$shared, &mut arguments); )?
                    $(
                        for item in self.$list {
                            $crate::ScriptRecord::push_to(item, &mut arguments);
                        }
                    )?
                    arguments
                }
            }
        )*

        /// Returns all scripts of the family.
        #[cfg(test)]
        pub(crate) fn $all() -> ::std::vec::Vec<&'static $crate::RedisScript> {
            ::std::vec![$(<$Script as $crate::ScriptCall>::script(),)*]
        }
    };
    (@names) => { &[] };
    (@names $names:expr) => { $names };
    (@list) => { None };
    (@list $list:ident $names:expr) => { Some((stringify!($list), $names)) };
}
