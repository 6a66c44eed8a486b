use hprof_heap::*;
struct P(std::time::Instant);
impl Progress for P { fn at(&self,s:Stage,d:u64,a:u64){ if d==0||d<2000 {eprintln!("{:?} {:?} {d}/{a}",self.0.elapsed(),s)} } }
fn main(){ let f=std::fs::File::open(std::env::args().nth(1).unwrap()).unwrap();
 let p=P(std::time::Instant::now());
 let d=Dump::open(&f,None).unwrap(); eprintln!("{:?} opened",p.0.elapsed());
 let o=Options{layout:None,excluded:Excluded::default(),memory:Memory::unlimited()};
 let h=Heap::of(&d,&o,&p).unwrap(); eprintln!("{:?} done",p.0.elapsed());
 h.debug();
 for l in std::fs::read_to_string("/proc/self/status").unwrap().lines().filter(|l|l.contains("Rss")||l.contains("HWM")){eprintln!("{l}")}
}
