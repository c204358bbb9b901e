//! Types with unknowns, and their unification.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use crate::element::ScalarType;
use crate::ir::Type;

/// A type that may still be unknown, by number in [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ty(u32);

/// What an unknown type can become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Anything.
    Any,
    /// The type of an integer literal: an integer, `i32` if nothing says which.
    Int,
    /// The type of a float literal: a float, `f64` if nothing says which.
    Float,
}

/// What is known of a type.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Unknown(Unknown),
    Scalar(ScalarType),
    Array(Ty, usize),
    Tuple(Vec<Ty>),
    Struct(&'static str, Vec<(&'static str, Ty)>),
}

#[derive(Clone, Debug)]
enum Node {
    Same(Ty),
    Is(Shape),
}

/// Two types that cannot be one.
#[derive(Debug)]
pub(super) struct Mismatch;

/// Scalars and nodes that a type may have; more is taken for a mistake.
pub(super) const MAX_TYPE_SIZE: usize = 1 << 20;
/// How deep types may nest.
const MAX_TYPE_DEPTH: usize = 64;

/// All types of one body.
#[derive(Debug, Default)]
pub(super) struct Types {
    nodes: Vec<Node>,
    /// Finished types with their sizes.
    known: HashMap<Ty, (Type, usize)>,
}

impl Types {
    fn push(&mut self, node: Node) -> Ty {
        self.nodes.push(node);
        Ty((self.nodes.len() - 1) as u32)
    }

    pub fn unknown(&mut self, kind: Unknown) -> Ty {
        self.push(Node::Is(Shape::Unknown(kind)))
    }

    pub fn any(&mut self) -> Ty {
        self.unknown(Unknown::Any)
    }

    pub fn scalar(&mut self, scalar: ScalarType) -> Ty {
        self.push(Node::Is(Shape::Scalar(scalar)))
    }

    pub fn array(&mut self, entry: Ty, len: usize) -> Ty {
        self.push(Node::Is(Shape::Array(entry, len)))
    }

    pub fn tuple(&mut self, parts: Vec<Ty>) -> Ty {
        self.push(Node::Is(Shape::Tuple(parts)))
    }

    pub fn unit(&mut self) -> Ty {
        self.tuple(Vec::new())
    }

    pub fn point(&mut self, rank: usize) -> Ty {
        let entry = self.scalar(ScalarType::I64);
        self.array(entry, rank)
    }

    /// The type as one of this table.
    pub fn import(&mut self, ty: &Type) -> Ty {
        match ty {
            Type::Scalar(s) => self.scalar(*s),
            Type::Array(t, n) => {
                let entry = self.import(t);
                self.array(entry, *n)
            }
            Type::Tuple(ts) => {
                let parts = ts.iter().map(|t| self.import(t)).collect();
                self.tuple(parts)
            }
            Type::Struct(name, fields) => {
                let fields = fields.iter().map(|(n, t)| (*n, self.import(t))).collect();
                self.push(Node::Is(Shape::Struct(name, fields)))
            }
        }
    }

    fn root(&mut self, ty: Ty) -> Ty {
        let mut root = ty;
        while let Some(Node::Same(next)) = self.nodes.get(root.0 as usize) {
            root = *next;
        }
        // Shorten the way for the next time.
        let mut at = ty;
        while let Some(Node::Same(next)) = self.nodes.get(at.0 as usize) {
            let next = *next;
            self.nodes[at.0 as usize] = Node::Same(root);
            at = next;
        }
        root
    }

    /// What is known of `ty`.
    pub fn shape(&mut self, ty: Ty) -> Shape {
        let root = self.root(ty);
        match self.nodes.get(root.0 as usize) {
            Some(Node::Is(shape)) => shape.clone(),
            _ => Shape::Unknown(Unknown::Any),
        }
    }

    /// Makes the two types one.
    pub fn unify(&mut self, a: Ty, b: Ty) -> Result<(), Mismatch> {
        // Classes are joined before their parts are looked at, so each step leaves one class less: this ends, on
        // infinite types too.
        let mut work = vec![(a, b)];
        while let Some((a, b)) = work.pop() {
            let (a, b) = (self.root(a), self.root(b));
            if a == b {
                continue;
            }
            let (kept, gone) = match (self.shape(a), self.shape(b)) {
                (Shape::Unknown(ka), Shape::Unknown(kb)) => match (ka, kb) {
                    (Unknown::Any, _) => (b, a),
                    (_, Unknown::Any) => (a, b),
                    _ if ka == kb => (a, b),
                    _ => return Err(Mismatch),
                },
                (Shape::Unknown(kind), known) => {
                    allows(kind, &known)?;
                    (b, a)
                }
                (known, Shape::Unknown(kind)) => {
                    allows(kind, &known)?;
                    (a, b)
                }
                (Shape::Scalar(sa), Shape::Scalar(sb)) if sa == sb => (a, b),
                (Shape::Array(ea, na), Shape::Array(eb, nb)) if na == nb => {
                    work.push((ea, eb));
                    (a, b)
                }
                (Shape::Tuple(pa), Shape::Tuple(pb)) if pa.len() == pb.len() => {
                    work.extend(pa.into_iter().zip(pb));
                    (a, b)
                }
                (Shape::Struct(na, fa), Shape::Struct(nb, fb))
                    if na == nb && fa.iter().map(|f| f.0).eq(fb.iter().map(|f| f.0)) =>
                {
                    work.extend(fa.into_iter().map(|f| f.1).zip(fb.into_iter().map(|f| f.1)));
                    (a, b)
                }
                _ => return Err(Mismatch),
            };
            self.nodes[gone.0 as usize] = Node::Same(kept);
        }
        Ok(())
    }

    /// The finished type: literals of no other type are `i32` and `f64`, what never has a value is `()`.
    /// `None` if it is endless or too large. Nothing is unified afterwards.
    pub fn finish(&mut self, ty: Ty) -> Option<Type> {
        self.finish_at(ty, MAX_TYPE_DEPTH).map(|(t, _)| t)
    }

    fn finish_at(&mut self, ty: Ty, depth: usize) -> Option<(Type, usize)> {
        let root = self.root(ty);
        if let Some(known) = self.known.get(&root) {
            return Some(known.clone());
        }
        let depth = depth.checked_sub(1)?;
        let (done, size) = match self.shape(root) {
            Shape::Unknown(Unknown::Any) => (Type::unit(), 1),
            Shape::Unknown(Unknown::Int) => (Type::Scalar(ScalarType::I32), 1),
            Shape::Unknown(Unknown::Float) => (Type::Scalar(ScalarType::F64), 1),
            Shape::Scalar(s) => (Type::Scalar(s), 1),
            Shape::Array(entry, len) => {
                let (entry, size) = self.finish_at(entry, depth)?;
                (Type::Array(Arc::new(entry), len), len.saturating_mul(size).saturating_add(1))
            }
            Shape::Tuple(parts) => {
                let mut size = 1usize;
                let mut done = Vec::with_capacity(parts.len());
                for part in parts {
                    let (t, n) = self.finish_at(part, depth)?;
                    size = size.saturating_add(n);
                    done.push(t);
                }
                (Type::Tuple(done.into()), size)
            }
            Shape::Struct(name, fields) => {
                let mut size = 1usize;
                let mut done = Vec::with_capacity(fields.len());
                for (field, t) in fields {
                    let (t, n) = self.finish_at(t, depth)?;
                    size = size.saturating_add(n);
                    done.push((field, t));
                }
                (Type::Struct(name, done.into()), size)
            }
        };
        if size > MAX_TYPE_SIZE {
            return None;
        }
        self.known.insert(root, (done.clone(), size));
        Some((done, size))
    }

    /// The type for a message.
    pub fn describe(&mut self, ty: Ty) -> String {
        let mut out = String::new();
        self.describe_into(ty, 4, &mut out);
        out
    }

    fn describe_into(&mut self, ty: Ty, depth: usize, out: &mut String) {
        if depth == 0 {
            out.push_str("..");
            return;
        }
        match self.shape(ty) {
            Shape::Unknown(Unknown::Any) => out.push('_'),
            Shape::Unknown(Unknown::Int) => out.push_str("{integer}"),
            Shape::Unknown(Unknown::Float) => out.push_str("{float}"),
            Shape::Scalar(s) => out.push_str(s.name()),
            Shape::Array(entry, len) => {
                out.push('[');
                self.describe_into(entry, depth - 1, out);
                let _ = write!(out, "; {len}]");
            }
            Shape::Tuple(parts) => {
                out.push('(');
                for (n, part) in parts.iter().take(8).enumerate() {
                    if n > 0 {
                        out.push_str(", ");
                    }
                    self.describe_into(*part, depth - 1, out);
                }
                out.push_str(match parts.len() {
                    1 => ",)",
                    0..=8 => ")",
                    _ => ", ..)",
                });
            }
            Shape::Struct(name, _) => out.push_str(name),
        }
    }
}

fn allows(kind: Unknown, known: &Shape) -> Result<(), Mismatch> {
    let fits = match (kind, known) {
        (Unknown::Any, _) => true,
        (Unknown::Int, Shape::Scalar(s)) => s.is_int(),
        (Unknown::Float, Shape::Scalar(s)) => s.is_float(),
        _ => false,
    };
    if fits { Ok(()) } else { Err(Mismatch) }
}
