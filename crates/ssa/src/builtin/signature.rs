//! The little language signatures are written in.
//!
//! Parameters, a colon, the result. One letter each:
//!
//! | letter | type |
//! |---|---|
//! | `F` `I` `A` | float / integer / either, scalar or vector; the same type wherever the letter stands |
//! | `f` `i` | the element type of `F`, `I` |
//! | `J` `C` | 32-bit integer / truth value with the lanes of `F` |
//! | `B` | truth value or vector of them |
//! | `V` | any scalar, vector or pointer |
//! | `b` `h` `d` `l` `L` | `i1`, `i16`, `i32`, `i64`, `v2i64` |
//! | `x` `K` | any integer scalar (an index, a mask) |
//! | `P` | integer, or vector of two or three of them |
//! | `p` | pointer |
//! | `M` `m` | matrix / its element type |
//! | `#` | any matrix |
//! | `G` | any aggregate |
//! | `v` `R` | nothing / anything |
//! | `?` | the next parameter may be missing |
//! | `*` | any further parameters |

use crate::ty::{Scalar, Type, TypeKind};

/// What is wrong with a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// Too few or too many arguments.
    Count {
        /// How many there are.
        given: usize,
    },
    /// An argument has the wrong type.
    Argument {
        /// Its position, from zero.
        index: usize,
        /// Its type.
        given: Type,
        /// What would fit, in words.
        wanted: String,
    },
    /// The result has the wrong type.
    Result {
        /// Its type.
        given: Type,
        /// What would fit, in words.
        wanted: String,
    },
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count { given } => write!(f, "does not take {given} arguments"),
            Self::Argument {
                index,
                given,
                wanted,
            } => {
                write!(f, "argument {index} is {given}, should be {wanted}")
            }
            Self::Result { given, wanted } => write!(f, "result is {given}, should be {wanted}"),
        }
    }
}

#[derive(Default)]
struct Bound {
    shared: Option<Type>,
    matrix: Option<Scalar>,
}

/// Checks argument and result types against a signature.
pub fn check(signature: &str, args: &[Type], result: Type) -> Result<(), Mismatch> {
    let (params, wanted_result) = signature.split_once(':').unwrap_or((signature, "R"));
    let mut bound = Bound::default();
    // The type variable may first be said by the result (`unpack`) or by a later argument.
    for (letter, ty) in params.chars().filter(|&c| c != '?').zip(args) {
        if matches!(letter, 'F' | 'I' | 'A') && bound.shared.is_none() {
            bound.shared = Some(*ty);
        }
        if let ('M', TypeKind::Matrix(element)) = (letter, ty.kind()) {
            bound.matrix = Some(element);
        }
    }
    let mut index = 0;
    let mut optional = false;
    for letter in params.chars() {
        match letter {
            '*' => {
                index = args.len();
                break;
            }
            '?' => {
                optional = true;
                continue;
            }
            _ => {}
        }
        match args.get(index) {
            Some(&given) if !fits(letter, given, &mut bound) => {
                return Err(Mismatch::Argument {
                    index,
                    given,
                    wanted: describe(letter, &bound),
                });
            }
            Some(_) => index += 1,
            None if optional => break,
            None => return Err(Mismatch::Count { given: args.len() }),
        }
    }
    if index != args.len() {
        return Err(Mismatch::Count { given: args.len() });
    }
    let letter = wanted_result.chars().next().unwrap_or('R');
    if fits(letter, result, &mut bound) {
        Ok(())
    } else {
        Err(Mismatch::Result {
            given: result,
            wanted: describe(letter, &bound),
        })
    }
}

fn fits(letter: char, ty: Type, bound: &mut Bound) -> bool {
    let element_of = |ty: Option<Type>| ty.and_then(Type::lane_type).map(Type::scalar);
    match letter {
        'F' => ty.is_float() && *bound.shared.get_or_insert(ty) == ty,
        'I' => ty.is_int() && *bound.shared.get_or_insert(ty) == ty,
        'A' => ty.lane_type().is_some() && *bound.shared.get_or_insert(ty) == ty,
        'f' | 'i' => element_of(bound.shared) == Some(ty),
        'J' => bound.shared.map(|shared| shared.with_element(Scalar::I32)) == Some(ty),
        'C' => bound.shared.map(|shared| shared.with_element(Scalar::I1)) == Some(ty),
        'B' => ty.lane_type() == Some(Scalar::I1),
        'V' => ty.lanes() > 0 && !ty.is_matrix(),
        'b' => ty == Type::I1,
        'h' => ty == Type::I16,
        'd' => ty == Type::I32,
        'l' => ty == Type::I64,
        'L' => ty == Type::vector(Scalar::I64, 2),
        'x' | 'K' => matches!(ty.kind(), TypeKind::Scalar(scalar) if scalar.is_int()),
        'P' => ty.is_int() && ty.lanes() <= 3 && ty.element() != Some(Scalar::I1),
        'p' => ty.is_pointer(),
        'M' => match ty.kind() {
            TypeKind::Matrix(element) => *bound.matrix.get_or_insert(element) == element,
            _ => false,
        },
        'm' => match ty.kind() {
            TypeKind::Scalar(element) => *bound.matrix.get_or_insert(element) == element,
            _ => false,
        },
        '#' => ty.is_matrix(),
        'G' => ty.is_aggregate(),
        'v' => ty.is_void(),
        'R' => true,
        _ => false,
    }
}

fn describe(letter: char, bound: &Bound) -> String {
    let same = |what: &str| match bound.shared {
        Some(ty) if matches!(letter, 'F' if ty.is_float()) => ty.to_string(),
        Some(ty) if matches!(letter, 'I' if ty.is_int()) => ty.to_string(),
        Some(ty) if letter == 'A' && ty.lane_type().is_some() => ty.to_string(),
        _ => what.to_owned(),
    };
    let of_shared = |scalar: Scalar| match bound.shared {
        Some(ty) => ty.with_element(scalar).to_string(),
        None => scalar.name().to_owned(),
    };
    match letter {
        'F' => same("a float or float vector"),
        'I' => same("an integer or integer vector"),
        'A' => same("a number or vector"),
        'f' | 'i' => bound.shared.and_then(Type::lane_type).map_or_else(
            || "the element type".to_owned(),
            |scalar| scalar.name().to_owned(),
        ),
        'J' => of_shared(Scalar::I32),
        'C' => of_shared(Scalar::I1),
        'B' => "i1 or a vector of i1".to_owned(),
        'V' => "a scalar, vector or pointer".to_owned(),
        'b' => "i1".to_owned(),
        'h' => "i16".to_owned(),
        'd' => "i32".to_owned(),
        'l' => "i64".to_owned(),
        'L' => "v2i64".to_owned(),
        'x' | 'K' => "an integer".to_owned(),
        'P' => "an integer or a vector of two or three".to_owned(),
        'p' => "a pointer".to_owned(),
        'M' => bound.matrix.map_or_else(
            || "a matrix".to_owned(),
            |element| Type::matrix(element).to_string(),
        ),
        'm' => bound.matrix.map_or_else(
            || "the matrix's element type".to_owned(),
            |element| element.name().to_owned(),
        ),
        '#' => "a matrix".to_owned(),
        'G' => "an aggregate".to_owned(),
        'v' => "void".to_owned(),
        _ => "something else".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_letter_means_one_type() {
        let v4 = Type::vector(Scalar::F32, 4);
        assert_eq!(check("FF:F", &[v4, v4], v4), Ok(()));
        assert_eq!(check("FF:f", &[v4, v4], Type::F32), Ok(()));
        let wrong = check("FF:F", &[v4, Type::F32], v4).unwrap_err();
        assert_eq!(wrong.to_string(), "argument 1 is f32, should be v4f32");
        assert_eq!(
            check("F:F", &[Type::I32], Type::I32)
                .unwrap_err()
                .to_string(),
            "argument 0 is i32, should be a float or float vector"
        );
    }

    #[test]
    fn optional_parameters_may_be_missing() {
        assert_eq!(check("I?b:I", &[Type::I32], Type::I32), Ok(()));
        assert_eq!(check("I?b:I", &[Type::I32, Type::I1], Type::I32), Ok(()));
        assert_eq!(
            check("I?b:I", &[], Type::I32),
            Err(Mismatch::Count { given: 0 })
        );
    }

    #[test]
    fn a_matrix_load_gives_the_type_of_its_result() {
        let args = [
            Type::pointer(crate::Space::Device),
            Type::I64,
            Type::vector(Scalar::I64, 2),
            Type::I1,
        ];
        assert_eq!(check("plLb:M", &args, Type::matrix(Scalar::F16)), Ok(()));
        assert!(check("plLb:M", &args, Type::F16).is_err());
    }
}
