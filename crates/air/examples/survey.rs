#![allow(clippy::print_stdout, missing_docs)]
use std::collections::BTreeMap;
use assay_air::llvm::*;
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).unwrap();
    let bytes = std::fs::read(&path)?;
    let lib = assay_container::mtlb::Metallib::parse(&bytes)?;
    let mut c = BTreeMap::<String, (usize, String)>::new();
    let t = std::time::Instant::now();
    let mut n = 0;
    for f in lib.functions() {
        let Some(bc) = f.bitcode else { continue };
        for m in read(bc).map_err(|e| format!("{}: {e}", f.name))? {
            n += 1;
            let mut add = |k: String| { let e = c.entry(k).or_insert((0, f.name.to_string())); e.0 += 1; };
            add(format!("triple {}", m.triple));
            for k in m.metadata.named("air.kernel") {
                let node = m.metadata.node(*k);
                for x in node.iter().skip(3).flatten() { for y in m.metadata.node(*x).iter().flatten() { if let Some(s) = m.metadata.string(*y) { add(format!("kernelattr {s}")); } } }
                if let Some(Some(args)) = node.get(2) {
                    for a in m.metadata.node(*args).iter().flatten() {
                        let a = m.metadata.node(*a);
                        let mut shape = String::new();
                        for (i, y) in a.iter().enumerate() { 
                            let Some(y) = y else { continue };
                            match m.metadata.string(*y) {
                                Some(s) if s.starts_with("air.") => shape += &format!("{s} "),
                                Some(_) => shape += "str ",
                                None => { if i > 0 { shape += "# " } }
                            }
                        }
                        add(format!("arg {shape}"));
                    }
                }
            }
            for g in &m.globals { add(format!("global space {} const {} sec {:?} init {}", g.space, g.constant, m.section(g.section), g.initializer.is_some())); }
            for b in &m.bodies {
                let func = &m.functions[b.function as usize];
                let ctor = m.section(func.section) == "air.static_init";
                if ctor { let s: Vec<_> = b.instructions.iter().map(|i| i.op.name()).collect::<std::collections::BTreeSet<_>>().into_iter().collect(); add(format!("ctor {s:?}")); }
                for v in &b.values {
                    let k = match m.types.get(v.ty) { Some(Type::Struct{..}|Type::Array(..)) => "aggregate".into(), _ => m.types.display(v.ty).to_string() };
                    add(format!("type {k}"));
                }
                for i in &b.instructions {
                    let k = match i.op {
                        Op::Call { callee, .. } => match b.value(&m, callee).map(|v| v.kind) { Some(ValueKind::Function(f)) => { let f=&m.functions[f as usize]; if f.body.is_some() { "call defined".into() } else { format!("call {}", f.name) } }, k => format!("call {k:?}") },
                        o => format!("op {}", o.name()) };
                    add(k);
                }
                for cst in &b.constants.constants { if let Constant::Other(k) = cst { add(format!("const other {k}")); } }
                for cst in &b.constants.constants { add(format!("const {}", format!("{cst:?}").split(|c: char| !c.is_alphanumeric()).next().unwrap())); }
            }
            for cst in &m.constants.constants { add(format!("mconst {}", format!("{cst:?}").split(|c: char| !c.is_alphanumeric()).next().unwrap())); }
        }
    }
    eprintln!("{n} modules {:?}", t.elapsed());
    for (k, (n, e)) in c { println!("{n:8} {k}   [{e}]"); }
    Ok(())
}
