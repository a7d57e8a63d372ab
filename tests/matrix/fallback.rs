//! Stations that offer less than everything: a tool answers the same, or names the interface it misses.

use mock_station::model::accounts::BRIDGE;
use mock_station::model::sample;
use mock_station::switches::{AccountSchemes, ObixMode, OrdForms, Switches};
use niagara_bridge::station::web::LoginScheme;
use serde_json::{Value, json};

use crate::agreement::differences;
use crate::examples::{self, Example, Over};
use crate::support::{Bench, NOW};

/// A station as it may be found.
struct Scenario {
    offers: &'static [Over],
    scheme: LoginScheme,
    switch: fn(&mut Switches),
}

const EVERYTHING: &[Over] = &[Over::OrdServlet, Over::Box, Over::Obix];

const NO_FORM: OrdForms = OrdForms {
    encoded_path: false,
    literal_path: false,
    query: false,
};

impl Scenario {
    fn offering(offers: &'static [Over], switch: fn(&mut Switches)) -> Self {
        Self {
            offers,
            scheme: LoginScheme::default(),
            switch,
        }
    }

    async fn bench(&self) -> Bench {
        let now = NOW.parse().expect("a time");
        let model = sample::station(now).expect("the sample station");
        let bench = Bench::connecting(model, now, self.switch, BRIDGE, |options| {
            options.scheme = self.scheme;
        })
        .await
        .with_capabilities();
        examples::map_site(&bench).await;
        bench
    }

    fn can_answer(&self, example: &Example) -> bool {
        !example.asks_the_station() || example.over.iter().any(|over| self.offers.contains(over))
    }

    /// Calls every tool, at a bridge that knows nothing yet, and once more at one that does.
    async fn prove(self) {
        let whole = Scenario::offering(EVERYTHING, |_| {}).bench().await;
        let bench = self.bench().await;
        let mut wrong = Vec::new();
        for round in ["at first", "again"] {
            for example in examples::without_edits(&bench.registry) {
                let found = self.judge(&whole, &bench, &example).await;
                let tool = &example.tool;
                wrong.extend(
                    found
                        .into_iter()
                        .map(|text| format!("{tool} {round}: {text}")),
                );
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        self.is_reported(&bench).await;
        assert_eq!(bench.mock.logins().len(), 1, "{:?}", bench.mock.logins());
    }

    /// What is wrong with the outcome of a call.
    async fn judge(&self, whole: &Bench, bench: &Bench, example: &Example) -> Vec<String> {
        let arguments = || example.arguments();
        let result = bench.call(&example.tool, arguments()).await;
        if example.is_capability {
            let expected = whole.call(&example.tool, arguments()).await;
            let said = |answer: &Value| without_tokens(&answer["structuredContent"]);
            return differences(&said(&expected), &said(&result))
                .into_iter()
                .chain((expected["isError"] != result["isError"]).then(|| result.to_string()))
                .collect();
        }
        if !self.can_answer(example) {
            return unclear(bench, &result).into_iter().collect();
        }
        if result["isError"] == json!(true) {
            return vec![format!("should answer: {result}")];
        }
        let answer = bench.answer(&example.tool, arguments()).await;
        if !example.asks_the_station() {
            return Vec::new();
        }
        let expected = whole.answer(&example.tool, arguments()).await;
        differences(&expected, &answer)
    }

    async fn is_reported(&self, bench: &Bench) {
        let health = bench.answer("getServiceHealth", json!({})).await;
        let interfaces = &health["station"]["interfaces"];
        for (name, over) in [
            ("bql", Over::OrdServlet),
            ("box", Over::Box),
            ("obix", Over::Obix),
        ] {
            let usable = self.offers.contains(&over);
            assert_eq!(
                interfaces[name]["usable"],
                json!(usable),
                "{name}: {interfaces}"
            );
            assert_eq!(
                interfaces[name]["reason"].is_string(),
                !usable,
                "{name}: {interfaces}"
            );
        }
    }
}

/// Ids of facts without what tells one store from another (CAMBER core §4.2).
fn without_tokens(data: &Value) -> Value {
    let token = regex::Regex::new("(@[A-Za-z0-9_]+)-[0-9a-f]{6}").expect("a pattern");
    let text = data.to_string();
    serde_json::from_str(&token.replace_all(&text, "$1")).expect("JSON")
}

/// What is wrong with an error that should name the missing interface.
fn unclear(bench: &Bench, result: &Value) -> Option<String> {
    let data = &result["errorData"];
    let clear = result["errorCode"] == json!(-32603)
        && data["kind"] == json!("interface-missing")
        && data["needs"]
            .as_str()
            .is_some_and(|needs| !needs.is_empty())
        && data["station"] == json!(bench.mock.url());
    (!clear).then(|| format!("should miss an interface: {result}"))
}

macro_rules! stations {
    ($($name:ident: $scenario:expr;)+) => {
        $(#[tokio::test]
        async fn $name() {
            $scenario.prove().await;
        })+
    };
}

stations! {
    a_station_with_everything: Scenario::offering(EVERYTHING, |_| {});
    no_obix: Scenario::offering(&[Over::OrdServlet, Over::Box], |switches| {
        switches.obix.mode = ObixMode::NoServlet;
    });
    obix_without_licence: Scenario::offering(&[Over::OrdServlet, Over::Box], |switches| {
        switches.obix.mode = ObixMode::Unlicensed500;
    });
    obix_forbidden: Scenario::offering(&[Over::OrdServlet, Over::Box], |switches| {
        switches.obix.mode = ObixMode::Unlicensed403;
    });
    obix_switched_off: Scenario::offering(&[Over::OrdServlet, Over::Box], |switches| {
        switches.obix.mode = ObixMode::Disabled;
    });
    no_box: Scenario::offering(&[Over::OrdServlet, Over::Obix], |switches| {
        switches.boxs.present = false;
    });
    an_ord_servlet_that_takes_no_form: Scenario::offering(&[Over::Box, Over::Obix], |switches| {
        switches.ord.forms = NO_FORM;
    });
    no_table_exporter: Scenario::offering(&[Over::Box, Over::Obix], |switches| {
        switches.export.csv_exporter = false;
    });
    obix_alone: Scenario::offering(&[Over::Obix], |switches| {
        switches.boxs.present = false;
        switches.export.csv_exporter = false;
    });
    box_alone: Scenario::offering(&[Over::Box], |switches| {
        switches.obix.mode = ObixMode::NoServlet;
        switches.ord.forms = NO_FORM;
    });
    the_ord_servlet_alone: Scenario::offering(&[Over::OrdServlet], |switches| {
        switches.obix.mode = ObixMode::NoServlet;
        switches.boxs.present = false;
    });
    nothing_at_all: Scenario::offering(&[], |switches| {
        switches.obix.mode = ObixMode::NoServlet;
        switches.boxs.present = false;
        switches.ord.forms = NO_FORM;
    });
    a_user_of_the_basic_scheme: Scenario {
        offers: EVERYTHING,
        scheme: LoginScheme::Basic,
        switch: |switches| switches.login.schemes = AccountSchemes::BasicOnly,
    };
    a_user_of_the_digest_scheme_by_form: Scenario {
        offers: EVERYTHING,
        scheme: LoginScheme::FormScram,
        switch: |switches| switches.login.schemes = AccountSchemes::DigestOnly,
    };
    a_user_of_the_digest_scheme_by_header: Scenario {
        offers: EVERYTHING,
        scheme: LoginScheme::HeaderScram,
        switch: |switches| switches.login.schemes = AccountSchemes::DigestOnly,
    };
    the_encoded_path_alone: Scenario::offering(EVERYTHING, |switches| {
        switches.ord.forms = OrdForms { encoded_path: true, ..NO_FORM };
    });
    the_literal_path_alone: Scenario::offering(EVERYTHING, |switches| {
        switches.ord.forms = OrdForms { literal_path: true, ..NO_FORM };
    });
    the_query_form_alone: Scenario::offering(EVERYTHING, |switches| {
        switches.ord.forms = OrdForms { query: true, ..NO_FORM };
    });
}
