//! The sections behind the summary: issues, sensors, savings, facts.

use niagara_analytics::catalogue::RuleCatalogue;
use serde_json::Value;

use super::Collected;
use super::markup::{Html, anchor};

/// A list that may be wider than the paper; reachable with the keyboard where it scrolls.
pub(super) fn open_scroll(html: &mut Html, label: &str) {
    html.raw("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"")
        .text(label)
        .raw("\">");
}

/// A number as people write it; a dash for none.
pub(super) fn figure(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string().trim_end_matches(".0").to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        _ => "–".to_owned(),
    }
}

pub(super) fn dollars(value: &Value) -> String {
    value
        .as_f64()
        .map_or_else(|| "–".to_owned(), |cost| format!("${}", thousands(cost)))
}

pub(super) fn percent(value: &Value) -> String {
    match value {
        Value::Number(_) => format!("{} %", figure(value)),
        _ => "–".to_owned(),
    }
}

/// Whole, with a space between thousands.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.as_str()),
    };
    let mut written = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            written.push('\u{202f}');
        }
        written.push(digit);
    }
    format!("{sign}{written}")
}

pub(super) fn confidence(letter: &str) -> &'static str {
    match letter {
        "H" => "high",
        "M" => "medium",
        _ => "low",
    }
}

pub(super) fn cause_or_title(issue: &Value) -> String {
    let text = |key: &str| issue[key].as_str().unwrap_or_default();
    match text("cause") {
        "" => title(issue),
        cause => cause.to_owned(),
    }
}

/// What to do, or what the rule looks for, where the report has only the rule's id in words.
fn title(issue: &Value) -> String {
    let title = issue["title"].as_str().unwrap_or_default();
    let rule = issue["rules"][0].as_str().unwrap_or_default();
    let known = RuleCatalogue::shipped().entry(rule);
    known
        .filter(|_| title.eq_ignore_ascii_case(&rule.replace('_', " ")))
        .map(|entry| entry.title.as_str())
        .filter(|known| !known.is_empty())
        .unwrap_or(title)
        .to_owned()
}

/// The heading of an issue's section.
pub(super) fn heading(issue: &Value) -> String {
    format!(
        "Issue {}: {} on {}",
        figure(&issue["rank"]),
        cause_or_title(issue),
        issue["equip"].as_str().unwrap_or_default()
    )
}

/// One issue: what, why, how sure, the trends behind it, the points on the station, its facts.
pub(super) fn issue(html: &mut Html, collected: &Collected, issue: &Value) {
    let text = |key: &str| issue[key].as_str().unwrap_or_default();
    let key = text("key");
    html.raw("<section class=\"issue\" id=\"")
        .raw(&anchor(&format!("issue-{key}")))
        .raw("\">");
    html.element("h2", &heading(issue));
    html.raw("<dl class=\"figures\">");
    for (name, value) in [
        ("Severity", text("severity").to_owned()),
        ("What to do", title(issue)),
        ("Cost a year", dollars(&issue["annual_cost_usd"])),
        ("Basis of the cost", text("cost_basis_note").to_owned()),
        ("Hours", figure(&issue["hours"])),
        (
            "Of the hours with the fan on",
            percent(&issue["pct_runtime"]),
        ),
        ("Confidence", confidence(text("confidence")).to_owned()),
    ] {
        html.raw("<div>")
            .element("dt", name)
            .element("dd", &value)
            .raw("</div>");
    }
    html.raw("</dl>");
    texts(
        html,
        "Conditional on these sensors; check them first",
        &issue["conditional_on"],
    );
    if let Some((svg, caption)) = collected.charts.get(key) {
        html.raw("<figure><div class=\"chart\" role=\"img\" aria-label=\"")
            .text(caption)
            .raw("\">")
            // Drawn by the plotting module, which escapes every label.
            .raw(svg)
            .raw("</div>");
        html.element("figcaption", caption).raw("</figure>");
    }
    texts(html, "How sure this is", &issue["why"]);
    station_points(html, collected, issue);
    let facts = rows_of_issue(collected, key);
    fact_table(html, "Facts of this issue", &facts);
    html.raw("</section>\n");
}

fn texts(html: &mut Html, title: &str, list: &Value) {
    let Some(list) = list.as_array().filter(|list| !list.is_empty()) else {
        return;
    };
    html.element("h3", title).raw("<ul>");
    for text in list.iter().filter_map(Value::as_str) {
        html.element("li", text);
    }
    html.raw("</ul>");
}

/// The points on the station that the findings read.
fn station_points(html: &mut Html, collected: &Collected, issue: &Value) {
    let Some(ords) = issue["ords"].as_object().filter(|ords| !ords.is_empty()) else {
        return;
    };
    html.element("h3", "Points on the station");
    open_scroll(html, "Points on the station");
    html.raw("<table><thead><tr><th scope=\"col\">Role</th><th scope=\"col\">Point</th></tr></thead><tbody>");
    for (role, ord) in ords {
        let ord = ord.as_str().unwrap_or_default();
        html.raw("<tr>")
            .element("th scope=\"row\"", role)
            .raw("<td>");
        match &collected.links {
            Some(links) => html.link(&links.of(ord), ord),
            None => html.element("code", ord),
        };
        html.raw("</td></tr>");
    }
    html.raw("</tbody></table></div>");
}

fn rows_of_issue<'c>(collected: &'c Collected, key: &str) -> Vec<&'c Value> {
    rows_where(collected, |context| context == key)
}

/// Entries of the index by the part of the report that their ids name.
fn rows_where(collected: &Collected, is: impl Fn(&str) -> bool) -> Vec<&Value> {
    let context = |row: &Value| {
        let id = row["id"].as_str().unwrap_or_default();
        let (_, context) = id.split_once('@').unwrap_or_default();
        context
            .rsplit_once('-')
            .map_or(context, |(context, _)| context)
            .to_owned()
    };
    collected
        .rows("fact_index")
        .iter()
        .filter(|row| is(&context(row)))
        .collect()
}

fn fact_table(html: &mut Html, title: &str, facts: &[&Value]) {
    if facts.is_empty() {
        return;
    }
    html.element("h3", title);
    open_scroll(html, title);
    html.raw("<table class=\"facts\"><thead><tr><th scope=\"col\">Id</th><th scope=\"col\">Fact</th></tr></thead><tbody>");
    for fact in facts {
        html.raw("<tr>")
            .element("th scope=\"row\"", fact["id"].as_str().unwrap_or_default())
            .element("td", fact["text"].as_str().unwrap_or_default())
            .raw("</tr>");
    }
    html.raw("</tbody></table></div>");
}

/// How far the points can be trusted, and how sensors compare with their references.
pub(super) fn sensors(html: &mut Html, collected: &Collected) {
    let Some(trust) = &collected.trust else {
        return;
    };
    html.raw("<section id=\"data\"><h2>Data coverage and sensor health</h2>");
    let counts = &trust["counts"];
    html.element(
        "p",
        &format!(
            "{} points: {} trusted, {} suspect, {} untrusted; {} below the trust floor of {}, so that checks which need them \
             decline.",
            figure(&trust["n_points"]),
            figure(&counts["trusted"]),
            figure(&counts["suspect"]),
            figure(&counts["untrusted"]),
            figure(&counts["below_floor"]),
            figure(&trust["min_trust"]),
        ),
    );
    let doubtful: Vec<&Value> = rows(trust, "points")
        .filter(|point| point["verdict"] != "trusted" || point["below_floor"] == true)
        .collect();
    if doubtful.is_empty() {
        html.element("p", "Every point is trusted.");
    } else {
        table(
            html,
            "Points that are not trusted",
            &["Equipment", "Role", "Trust", "Verdict", "Flags", "Coverage"],
            doubtful.into_iter().map(|point| {
                vec![
                    figure(&point["equip"]),
                    figure(&point["role"]),
                    figure(&point["trust"]),
                    figure(&point["verdict"]),
                    words(&point["flags"]),
                    point["coverage"]
                        .as_f64()
                        .map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share)),
                ]
            }),
        );
    }
    let mut references = rows(trust, "references").peekable();
    if references.peek().is_some() {
        table(
            html,
            "Sensors against their references",
            &[
                "Equipment",
                "Role",
                "Reference",
                "Verdict",
                "Bias",
                "Samples",
            ],
            references.map(|row| {
                ["equip", "role", "reference", "verdict", "bias", "samples"]
                    .map(|key| figure(&row[key]))
                    .to_vec()
            }),
        );
    }
    html.raw("</section>\n");
}

fn rows<'v>(data: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    data[key].as_array().into_iter().flatten()
}

fn words(list: &Value) -> String {
    let words: Vec<&str> = list
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    words.join(", ")
}

fn table(html: &mut Html, title: &str, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    html.element("h3", title);
    open_scroll(html, title);
    html.raw("<table><thead><tr>");
    for column in columns {
        html.element("th scope=\"col\"", column);
    }
    html.raw("</tr></thead><tbody>");
    for row in rows {
        html.raw("<tr>");
        for cell in row {
            html.element("td", &cell);
        }
        html.raw("</tr>");
    }
    html.raw("</tbody></table></div>");
}

/// What measurement and verification says, fact by fact.
pub(super) fn savings(html: &mut Html, collected: &Collected) {
    let Some(savings) = &collected.savings else {
        return;
    };
    html.raw("<section id=\"mv\"><h2>M&amp;V</h2>");
    for banner in &savings.banners {
        html.raw("<p class=\"notice\">").text(banner).raw("</p>");
    }
    let facts: Vec<Value> = savings.facts.iter().cloned().map(Value::Object).collect();
    fact_table(
        html,
        "Savings and baselines",
        &facts.iter().collect::<Vec<_>>(),
    );
    let caveats = caveats(savings.data.get("findings"));
    if !caveats.is_empty() {
        table(
            html,
            "What these figures rest on",
            &["Id", "Caveat"],
            caveats.into_iter(),
        );
    }
    html.raw("</section>\n");
}

/// The caveats of findings; one that several have stands once, with all of them.
fn caveats(findings: Option<&Value>) -> Vec<Vec<String>> {
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for finding in findings.and_then(Value::as_array).into_iter().flatten() {
        let id = finding.get("finding_id").and_then(Value::as_str);
        let caveats = finding.get("caveats").and_then(Value::as_array);
        for caveat in caveats.into_iter().flatten().filter_map(Value::as_str) {
            let known = told.iter().position(|(known, _)| known == caveat);
            let place = known.unwrap_or_else(|| {
                told.push((caveat.to_owned(), Vec::new()));
                told.len() - 1
            });
            if let Some((_, ids)) = told.get_mut(place) {
                ids.extend(id.map(str::to_owned));
            }
        }
    }
    told.into_iter()
        .map(|(caveat, ids)| vec![ids.join(", "), caveat])
        .collect()
}

/// Declines and gaps, assumptions, what ran, the facts of the whole report, and notes.
pub(super) fn appendix(html: &mut Html, collected: &Collected) {
    facts_appendix(
        html,
        collected,
        ("appendix-a", "Appendix A: declines and data gaps", "appA"),
        "No check was declined, and no input is missing.",
    );
    facts_appendix(
        html,
        collected,
        ("appendix-b", "Appendix B: assumptions used", "appB"),
        "There are none.",
    );
    rules_run(html, collected);
    facts_appendix(
        html,
        collected,
        ("appendix-d", "Appendix D: fact index", "summary"),
        "There are none.",
    );
    html.raw("<section id=\"appendix-e\">")
        .element("h2", "Appendix E: engineers' notes");
    html.element(
        "p",
        "This report is made of data alone: it holds no notes, so that none has lost its issue.",
    );
    html.raw("</section>\n");
}

fn facts_appendix(
    html: &mut Html,
    collected: &Collected,
    (id, title, context): (&str, &str, &str),
    empty: &str,
) {
    html.raw("<section id=\"")
        .raw(id)
        .raw("\">")
        .element("h2", title);
    let facts = rows_where(collected, |of| of == context);
    match facts.is_empty() {
        true => {
            html.element("p", empty);
        }
        false => fact_table(html, title, &facts),
    }
    html.raw("</section>\n");
}

/// What each rule looked at. A rule that was skipped or declined everywhere is no pass.
fn rules_run(html: &mut Html, collected: &Collected) {
    html.raw("<section id=\"appendix-c\">")
        .element("h2", "Appendix C: rules run");
    if collected.rules.is_empty() {
        html.element("p", "What each rule did is not known: see the notices.");
        html.raw("</section>\n");
        return;
    }
    html.element(
        "p",
        "Counts are of equipment, or of groups of it. What was declined (an input is missing in part, or not trusted) or skipped \
         (an input is not there) is no pass.",
    );
    table(
        html,
        "Rules",
        &[
            "Rule",
            "Looks for",
            "Fault",
            "Warning",
            "Passed",
            "Declined",
            "Skipped",
        ],
        collected.rules.iter().map(|row| {
            [
                "rule", "title", "fault", "warn", "passed", "declined", "skipped",
            ]
            .map(|key| figure(&row[key]))
            .to_vec()
        }),
    );
    html.raw("</section>\n");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_written_for_people() {
        assert_eq!(figure(&json!(281.0)), "281");
        assert_eq!(figure(&json!(0.05)), "0.05");
        assert_eq!(figure(&Value::Null), "–");
        assert_eq!(dollars(&json!(13167.69)), "$13\u{202f}168");
        assert_eq!(dollars(&json!(1_234_567)), "$1\u{202f}234\u{202f}567");
        assert_eq!(dollars(&json!(-12.4)), "$-12");
        assert_eq!(percent(&json!(30.8)), "30.8 %");
        assert_eq!(confidence("M"), "medium");
    }
}
