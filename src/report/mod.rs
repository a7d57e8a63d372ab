//! The report of issues for people: one HTML file that needs nothing beside it.
//!
//! - [`collected`]: what capabilities say of a facility; the page shows nothing else.
//! - [`issue_charts`]: the trends behind each issue as pictures.
//! - [`page`], [`markup`]: the file.
//!
//! The file has no script, loads nothing, and is one column of text on paper as on a screen. Every text from the data is
//! escaped where it is written.

pub mod collected;
pub mod issue_charts;
mod markup;
mod page;
mod tables;

pub use self::collected::{Collected, StationLinks};

impl Collected {
    /// The report as one HTML file.
    pub fn to_html(&self) -> String {
        page::written(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use url::Url;

    use super::*;

    fn collected() -> Collected {
        let report = json!({
            "title": "Review <of> \"all\"",
            "site": "HQ",
            "period": ["2024-06-03 00:00:00", "2024-08-01 23:00:00"],
            "from_config": true,
            "kpis": {"n_issues": 1, "annual_cost_usd": 13167.69, "at_risk_usd": null, "n_uncosted": 0,
                "n_conditional": 1, "coverage_pct": 99.5, "n_declined": 2},
            "issues": [{
                "key": "48ad5d7a0b92", "rank": 1, "title": "Repair", "cause": "the valve of <script>alert(1)</script> leaks",
                "equip": "AHU\"><b>1", "severity": "fault", "annual_cost_usd": 13167.69, "cost_basis_note": "gas",
                "hours": 281.0, "pct_runtime": 49.1, "confidence": "L", "conditional_on": ["a & b"], "why": ["Sample"],
                "ords": {"oat": "station:|slot:/Drivers/A B/OAT"},
            }],
            "fact_index": [
                {"id": "K1@summary-abc123", "kind": "kpi", "equip": "", "text": "1 issue is ranked."},
                {"id": "X1@appA-abc123", "kind": "decline", "equip": "AHU", "text": "A check declined."},
                {"id": "F1@48ad5d7a0b92-abc123", "kind": "finding", "equip": "AHU", "text": "It <leaks>."},
            ],
        });
        Collected {
            facility: "hq".to_owned(),
            report: report.as_object().expect("an object").clone(),
            charts: [(
                "48ad5d7a0b92".to_owned(),
                ("<svg></svg>".to_owned(), "oat of <x>".to_owned()),
            )]
            .into(),
            notices: vec!["a <notice>".to_owned()],
            links: Some(StationLinks::new(
                Url::parse("https://station.example/").expect("an address"),
            )),
            made_at: "2024-08-02 08:00".to_owned(),
            ..Collected::default()
        }
    }

    #[test]
    fn names_from_the_data_never_become_markup() {
        let page = collected().to_html();
        for markup in ["<script", "<b>", "<leaks>", "<x>", "<notice>", "<of>"] {
            assert!(!page.contains(markup), "{markup}");
        }
        assert!(page.contains("the valve of &lt;script&gt;alert(1)&lt;/script&gt; leaks"));
        assert!(page.contains("aria-label=\"oat of &lt;x&gt;\"><svg></svg>"));
    }

    #[test]
    fn an_issue_links_to_the_points_of_the_station() {
        let mut collected = collected();
        let page = collected.to_html();
        assert!(page.contains(
            "<a rel=\"noreferrer\" href=\"https://station.example/ord/station:%7Cslot:/Drivers/A%20B/OAT\">\
             station:|slot:/Drivers/A B/OAT</a>"
        ));
        collected.links = None;
        let page = collected.to_html();
        assert!(page.contains("<code>station:|slot:/Drivers/A B/OAT</code>"));
    }

    #[test]
    fn a_rule_is_named_by_its_title_and_told_with_what_it_did() {
        let mut collected = collected();
        let issue = &mut collected.report["issues"][0];
        issue["cause"] = json!("");
        issue["title"] = json!("Filter fouling");
        issue["rules"] = json!(["filter_fouling"]);
        let known = niagara_analytics::RuleCatalogue::shipped().entry("filter_fouling");
        let title = markup::escaped(&known.expect("a rule").title);
        let row = json!({"rule": "filter_fouling", "title": "It looks", "fault": 2, "warn": 1, "passed": 5,
            "declined": 3, "skipped": 4});
        collected.rules = vec![row];
        let page = collected.to_html();
        assert!(page.contains(&format!("<dt>What to do</dt><dd>{title}</dd>")));
        assert!(page.contains(
            "<td>filter_fouling</td><td>It looks</td><td>2</td><td>1</td><td>5</td><td>3</td><td>4</td>"
        ));
        // Advice is no rule in words.
        collected.report["issues"][0]["title"] = json!("Find the reversed supply");
        assert!(
            collected
                .to_html()
                .contains("<dd>Find the reversed supply</dd>")
        );
    }

    #[test]
    fn facts_stand_where_they_belong() {
        let page = collected().to_html();
        let place = |text: &str| {
            page.find(text)
                .unwrap_or_else(|| panic!("{text} is not there"))
        };
        let issue = place("<section class=\"issue\" id=\"issue-48ad5d7a0b92\">");
        let gaps = place("<section id=\"appendix-a\">");
        assert!(issue < place("F1@48ad5d7a0b92-abc123") && place("F1@48ad5d7a0b92-abc123") < gaps);
        assert!(place("X1@appA-abc123") > gaps);
        assert!(page.contains("$13\u{202f}168") && page.contains("49.1 %"));
    }
}
