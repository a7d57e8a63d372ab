//! The page: what stands where (RCx report §8).

use serde_json::Value;

use super::Collected;
use super::markup::{Html, anchor};
use super::tables;

const STYLE: &str = include_str!("style.css");

/// The whole file.
pub(super) fn written(collected: &Collected) -> String {
    let mut html = Html::default();
    let title = collected.word("title");
    // The page may show what it holds and nothing else, whatever a name in it says.
    html.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
        .raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">")
        .raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
        .element("title", title)
        .raw("<style>")
        .raw(STYLE)
        .raw("</style></head>\n<body><a class=\"skip\" href=\"#main\">Skip to the report</a>\n");
    head(&mut html, collected);
    contents(&mut html, collected);
    html.raw("<main id=\"main\" tabindex=\"-1\">");
    summary(&mut html, collected);
    for issue in collected.rows("issues") {
        tables::issue(&mut html, collected, issue);
    }
    tables::sensors(&mut html, collected);
    tables::savings(&mut html, collected);
    tables::appendix(&mut html, collected);
    html.raw("</main></body></html>\n");
    html.into_string()
}

fn head(html: &mut Html, collected: &Collected) {
    html.raw("<header>").element("h1", collected.word("title"));
    let period: Vec<&str> = collected
        .rows("period")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let basis = match collected.field("from_config") {
        Value::Bool(true) => "a run configuration",
        _ => "every rule at its defaults",
    };
    html.raw("<p class=\"provenance\">");
    html.text(&format!(
        "{} ({}), samples from {}, judged with {basis}. Made {}.",
        collected.word("site"),
        collected.facility,
        period.join(" to "),
        collected.made_at
    ));
    html.raw("</p>");
    if !collected.notices.is_empty() {
        html.raw("<section class=\"notices\" aria-label=\"Notices\"><h2>Read this first</h2><ul>");
        for notice in &collected.notices {
            html.element("li", notice);
        }
        html.raw("</ul></section>");
    }
    html.raw("</header>\n");
}

fn contents(html: &mut Html, collected: &Collected) {
    html.raw("<nav aria-label=\"Contents\"><h2>Contents</h2><ol>");
    let mut entry = |place: &str, text: &str| {
        html.raw("<li>").jump(place, text).raw("</li>");
    };
    entry("summary", "Executive summary");
    for issue in collected.rows("issues") {
        let key = issue["key"].as_str().unwrap_or_default();
        entry(&format!("issue-{key}"), &tables::heading(issue));
    }
    if collected.trust.is_some() {
        entry("data", "Data coverage and sensor health");
    }
    if collected.savings.is_some() {
        entry("mv", "M&V");
    }
    entry("appendix-a", "Appendix A: declines and data gaps");
    entry("appendix-b", "Appendix B: assumptions used");
    entry("appendix-c", "Appendix C: rules run");
    entry("appendix-d", "Appendix D: fact index");
    entry("appendix-e", "Appendix E: engineers' notes");
    html.raw("</ol></nav>\n");
}

fn summary(html: &mut Html, collected: &Collected) {
    html.raw("<section id=\"summary\"><h2>Executive summary</h2>");
    let kpis = collected.field("kpis");
    html.raw("<dl class=\"figures\">");
    for (name, value) in [
        ("Issues", tables::figure(&kpis["n_issues"])),
        ("Cost a year", tables::dollars(&kpis["annual_cost_usd"])),
        (
            "At risk: rests on doubtful sensors",
            tables::dollars(&kpis["at_risk_usd"]),
        ),
        ("Uncosted issues", tables::figure(&kpis["n_uncosted"])),
        (
            "Issues conditional on a sensor",
            tables::figure(&kpis["n_conditional"]),
        ),
        (
            "Coverage of air-side points",
            tables::percent(&kpis["coverage_pct"]),
        ),
        (
            "Declined checks (no pass)",
            tables::figure(&kpis["n_declined"]),
        ),
    ] {
        html.raw("<div>")
            .element("dt", name)
            .element("dd", &value)
            .raw("</div>");
    }
    html.raw("</dl>");
    let issues = collected.rows("issues");
    if issues.is_empty() {
        html.element(
            "p",
            "No issue was found. A declined or skipped check is no pass: see appendix A.",
        );
        html.raw("</section>\n");
        return;
    }
    tables::open_scroll(html, "Ranked issues");
    html.raw("<table><caption>Ranked issues</caption><thead><tr>");
    for column in [
        "Rank",
        "Issue",
        "Equipment",
        "Severity",
        "Cost a year",
        "Hours",
        "Confidence",
    ] {
        html.element("th scope=\"col\"", column);
    }
    html.raw("</tr></thead><tbody>");
    for issue in issues {
        let text = |key: &str| issue[key].as_str().unwrap_or_default();
        html.raw("<tr>")
            .element("td", &tables::figure(&issue["rank"]));
        html.raw("<th scope=\"row\">")
            .jump(
                &format!("issue-{}", text("key")),
                &tables::cause_or_title(issue),
            )
            .raw("</th>");
        html.element("td", text("equip"));
        html.raw("<td><span class=\"severity ")
            .raw(&anchor(text("severity")))
            .raw("\">")
            .text(text("severity"))
            .raw("</span></td>");
        html.element("td", &tables::dollars(&issue["annual_cost_usd"]));
        html.element("td", &tables::figure(&issue["hours"]));
        html.element("td", tables::confidence(text("confidence")));
        html.raw("</tr>");
    }
    html.raw("</tbody></table></div></section>\n");
}
