//! One answer of all blocks, in three forms and three widths.

use super::*;
use crate::table::Column;
use unicode_width::UnicodeWidthStr;

fn answer() -> Answer {
    let mut answer = Answer::default();
    answer.push(Headline {
        name: "rmsnorm".to_owned(),
        place: "on m2 (10 cores)".to_owned(),
        value: "1.7 ms".to_owned(),
        note: "1.4–2.1 ms, modelled".to_owned(),
        role: None,
    });
    answer.push(vec![
        Figure::new("limited by", "L2 bandwidth 91 %").note("assay explain l2-bandwidth"),
        Figure::new("DRAM", "19.8 % of 100 GB/s"),
    ]);
    answer.push(Block::bars(
        "Where the time goes",
        vec![Bar::new("L2 bandwidth", "1.5 ms", 0.91)],
    ));
    answer.push(Source {
        title: "Hot lines".to_owned(),
        lines: vec![SourceLine {
            place: "33".to_owned(),
            share: 0.89,
            text: "y[row*D + i] = half(float(x[row*D + i]) * inv * float(w[i]));".to_owned(),
            why: "L2 bandwidth".to_owned(),
        }],
    });
    let mut table = Table::new([Column::left("loop"), Column::right("cycles")]);
    table.row(["L<0>|", "12"]);
    answer.push(table);
    answer.push(Block::Heading("Do this first".to_owned()));
    answer.push(Advice {
        rule: "scattered-access".to_owned(),
        place: "rmsnorm.metal:33".to_owned(),
        text: "7.8 cache lines per access, 1 would do".to_owned(),
        patch: vec!["- i++".to_owned(), "+ i += TG".to_owned()],
        command: "assay explain scattered-access".to_owned(),
        gain: "4.36 times as fast".to_owned(),
        ..Advice::default()
    });
    answer.push(Picture {
        svg: "<svg></svg>".to_owned(),
        caption: "the roofline".to_owned(),
    });
    answer.push(Listing {
        title: "Code".to_owned(),
        text: "wait 0\n```\n".to_owned(),
        language: "asm",
    });
    answer
}

#[test]
fn no_line_of_words_is_longer_than_the_terminal() {
    for width in [40, 60, 80, 100, 120] {
        let view = View {
            width,
            ..View::default()
        };
        for line in answer().terminal(&view).lines() {
            assert!(line.width() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn a_terminal_of_eighty_columns() {
    let view = View {
        width: 80,
        ..View::default()
    };
    let expected = "\
rmsnorm on m2 (10 cores)  1.7 ms  (1.4–2.1 ms, modelled)
  limited by  L2 bandwidth 91 %  assay explain l2-bandwidth
  DRAM        19.8 % of 100 GB/s
Where the time goes
  L2 bandwidth  1.5 ms  91 %  █████████████████████▉
Hot lines
  33   89 %  y[row*D + i] = half(float(x[row*D + i]) * inv * float(w[i]));
  loop   cycles
  L<0>|      12
Do this first
  scattered-access  rmsnorm.metal:33: 7.8 cache lines per access, 1 would do
    - i++
    + i += TG
    assay explain scattered-access    4.36 times as fast
  the roofline
Code
wait 0
```
";
    assert_eq!(answer().terminal(&view), expected);
}

#[test]
fn markup_of_names_is_text_in_markdown_and_html() {
    let markdown = answer().markdown();
    assert!(markdown.contains("| L&lt;0&gt;\\| | 12 |"), "{markdown}");
    assert!(
        markdown.contains("````asm\nwait 0\n```\n````"),
        "{markdown}"
    );
    let html = answer().html();
    assert!(html.contains("L&lt;0&gt;|"), "{html}");
    assert!(html.contains("<svg></svg>"), "{html}");
}
