//! Named figures in the order in which they were found.

use std::fmt;

#[derive(Default)]
pub struct Table(Vec<(String, String)>);

impl Table {
    pub fn row(&mut self, name: &str, figure: String) {
        eprintln!("{name}: {figure}");
        self.0.push((name.to_owned(), figure));
    }

    /// Seconds, or milliseconds where they are few, and what is to be said of them.
    pub fn seconds(&mut self, name: &str, seconds: f64, remark: &str) {
        let figure = match seconds {
            few if few < 1.0 => format!("{:.1} ms", few * 1e3),
            many => format!("{many:.2} s"),
        };
        self.row(name, [&figure, remark].join(" ").trim_end().to_owned());
    }

    pub fn mebibytes(&mut self, name: &str, mebibytes: Option<f64>, remark: &str) {
        let figure = match mebibytes {
            Some(mebibytes) => format!("{mebibytes:.0} MiB {remark}").trim_end().to_owned(),
            None => "not told by this system".to_owned(),
        };
        self.row(name, figure);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | figure |\n|---|---|")?;
        self.0
            .iter()
            .try_for_each(|(name, figure)| writeln!(f, "| {name} | {figure} |"))
    }
}
