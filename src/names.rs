//! Enums whose variants have fixed names.

/// Declares an enum with a name for each variant, and makes `ALL` and `name` from it:
///
/// ```text
/// names! {
///     /// How a call ended.
///     #[derive(Clone, Copy, Debug)]
///     pub enum End {
///         /// It failed.
///         Error = "error",
///     }
/// }
/// ```
///
/// `=> heading` after the enum calls the function `heading` instead of `name`.
macro_rules! names {
    ($(#[$about:meta])* $vis:vis enum $name:ident {
        $($(#[$what:meta])* $variant:ident = $word:literal,)+
    }) => {
        names! { $(#[$about])* $vis enum $name { $($(#[$what])* $variant = $word,)+ } => name }
    };
    ($(#[$about:meta])* $vis:vis enum $name:ident {
        $($(#[$what:meta])* $variant:ident = $word:literal,)+
    } => $function:ident) => {
        $(#[$about])*
        $vis enum $name { $($(#[$what])* $variant,)+ }

        impl $name {
            /// All variants, in the order of their declaration.
            #[allow(dead_code, reason = "not every list is asked for")]
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The name of the variant.
            $vis const fn $function(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The name as a shared text, without an allocation.
            #[allow(dead_code, reason = "only some are cells of a report")]
            $vis fn text(self) -> ::arcstr::ArcStr {
                match self { $(Self::$variant => ::arcstr::literal!($word),)+ }
            }
        }
    };
}
