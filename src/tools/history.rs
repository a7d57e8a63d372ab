//! `readHistory`: records of a point's history, or their aggregates (Tool surface §8.9, §13.5.3).

use chrono::DateTime;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::result_value::{put_number, status_text, time_text};
use super::schema::{self, object};
use super::station_access::{SharedStations, component_ord, scope, station_error};
use super::time_argument::TimeRange;
use super::{Arguments, CallContext};
use crate::station::facade::{
    Aggregator, HISTORY_SCAN_LIMIT, HistoryRead, HistoryRequest, HistorySample, SampleValue,
    Summary,
};
use crate::station::ord::escape;

/// Most records of one answer (`maxHistoryRecordsPerQuery`, Tool surface §6).
pub const MAX_RECORDS: usize = 10_000;

/// `readHistory`.
pub struct ReadHistory {
    pub stations: SharedStations,
    /// `maxHistoryRecordsPerQuery`; values outside 1…10000 mean 10000.
    pub max_records: usize,
}

impl ReadHistory {
    fn cap(&self) -> usize {
        match self.max_records {
            1..=MAX_RECORDS => self.max_records,
            _ => MAX_RECORDS,
        }
    }
}

impl Tool for ReadHistory {
    fn definition(&self) -> ToolDefinition {
        let cap = i64::try_from(self.cap()).unwrap_or(i64::MAX);
        ToolDefinition::new(
            "readHistory",
            Category::History,
            Annotations::READ,
            "Reads the history of a control point or history extension between two instants (both included), oldest \
             first, with the status of each record. With an aggregation up to 500000 records are folded into count, \
             min, max, avg and sum; records with status fault, null, down, stale or disabled are left out and counted \
             in 'excluded'; 'bucketSec' adds one summary per interval. Times are RFC 3339, epoch milliseconds or a \
             date; without an offset they are station time. When truncated, continue from 'nextFrom'. \
             Example: {\"ord\":\"station:|slot:/Drivers/BacnetNetwork/AHU1/points/SAT\",\"from\":\"2026-03-01\",\
             \"to\":\"2026-03-02\",\"aggregation\":\"avg\",\"bucketSec\":3600}.",
        )
        .input(
            object()
                .required("ord", schema::string("Ord of a control point with a history, or of the history extension."))
                .required("from", schema::string("First instant."))
                .optional("to", schema::string("Last instant; now when absent."))
                .optional("limit", schema::integer_between("Most records to return.", 1, cap, cap.min(1000)))
                .optional(
                    "aggregation",
                    schema::one_of(
                        "none returns records; any other returns all aggregates.",
                        &["none", "avg", "min", "max", "count"],
                    ),
                )
                .optional(
                    "bucketSec",
                    schema::integer_between("Length of a bucket in seconds, when aggregating.", 1, i64::from(u32::MAX), 3600),
                ),
        )
        .output(output_schema())
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let text = arguments.string("ord")?;
            let ord = component_ord(text)?;
            let station = self.stations.for_caller(&context.principal)?;
            let scope = scope(context);
            let zone = station
                .zone(&scope)
                .await
                .map_err(|error| station_error(error, text))?;
            let range = TimeRange::from_arguments(&arguments, &zone, station.now())?;
            let aggregation = arguments.optional_string("aggregation").unwrap_or("none");
            let aggregating = aggregation != "none";
            let limit = arguments.count("limit", self.cap().min(1000));
            let request = HistoryRequest {
                ord: &ord,
                from: range.from,
                to: range.to,
                limit: if aggregating {
                    HISTORY_SCAN_LIMIT
                } else {
                    limit
                },
            };
            let mut answer = Answer::new(aggregating.then(|| {
                let bucket = arguments
                    .optional_integer("bucketSec")
                    .and_then(|seconds| u32::try_from(seconds).ok());
                Aggregator::new(range.from.timestamp_millis(), bucket)
            }));
            let read = station
                .read_history(&scope, request, &mut |sample| answer.take(sample))
                .await
                .map_err(|error| station_error(error, text))?;
            let mut map = Map::new();
            map.insert("ord".to_owned(), json!(text));
            map.insert("from".to_owned(), json!(time_text(&range.from)));
            map.insert("to".to_owned(), json!(time_text(&range.to)));
            map.insert("aggregation".to_owned(), json!(aggregation));
            answer.finish(&mut map, read, &zone);
            Ok(ToolOutput::json(Value::Object(map)))
        })
    }
}

fn output_schema() -> schema::ObjectSchema {
    let any_number = |text| schema::any_of_types(text, &["number", "null"]);
    object()
        .required("ord", schema::string("The ord as given."))
        .required("from", schema::string("First instant."))
        .required("to", schema::string("Last instant."))
        .required("aggregation", schema::string("The aggregation asked for."))
        .required("rows", schema::whole("Records visited."))
        .required(
            "truncatedByLimit",
            schema::boolean("More records exist; see nextFrom."),
        )
        .required(
            "truncatedByTimeout",
            schema::boolean("The time was over before the end; see nextFrom."),
        )
        .required(
            "historyId",
            schema::string("Id of the history, /Station/Name."),
        )
        .optional(
            "type",
            schema::one_of(
                "Kind of the values.",
                &["numeric", "boolean", "enum", "string"],
            ),
        )
        .optional("units", schema::string("Unit symbol of the values."))
        .required(
            "statusAvailable",
            schema::boolean("Whether the interface told the status of the records."),
        )
        .required(
            "archiveIncluded",
            schema::boolean("Archived records are not asked for."),
        )
        .optional(
            "nextFrom",
            schema::string("Where to continue: the next record's instant."),
        )
        .optional(
            "nextFromRepeats",
            schema::whole("Records at that instant which this answer already holds."),
        )
        .optional(
            "timesOutOfOrder",
            schema::boolean("Some records were stored out of order; they are sorted here."),
        )
        .optional(
            "samplesPossiblyLost",
            schema::boolean("More records shared one instant than the interface can page."),
        )
        .optional(
            "records",
            schema::list(
                "Records, oldest first.",
                object()
                    .required(
                        "timestamp",
                        schema::string("RFC 3339 with the station's offset."),
                    )
                    .required("timestampMs", schema::whole("Epoch milliseconds."))
                    .required(
                        "value",
                        schema::any_of_types(
                            "Number, 0 or 1 of a boolean, tag of an enum, or text.",
                            &["number", "string", "null"],
                        ),
                    )
                    .optional(
                        "type",
                        schema::string("Kind of the value, when it is no number."),
                    )
                    .optional(
                        "toString",
                        schema::string("Text of the value, when it is no number."),
                    )
                    .optional("ordinal", schema::whole("Ordinal of an enum."))
                    .optional("nonFinite", schema::string("NaN, Infinity or -Infinity."))
                    .optional("status", schema::string("Status words in braces."))
                    .optional(
                        "valid",
                        schema::boolean("False when the status makes the value unusable."),
                    )
                    .optional(
                        "trendFlags",
                        schema::list("Flags such as start or hidden.", json!({"type": "string"})),
                    ),
            ),
        )
        .optional("count", schema::whole("All records of the range."))
        .optional(
            "used",
            schema::whole("Records that took part in the aggregates."),
        )
        .optional("min", any_number("Smallest value."))
        .optional("max", any_number("Largest value."))
        .optional("avg", any_number("Sum over the records that took part."))
        .optional("sum", any_number("Sum."))
        .optional(
            "excluded",
            object()
                .required("null", schema::whole("Null status or no value."))
                .required(
                    "fault",
                    schema::whole("Status disabled, fault, down or stale."),
                )
                .required("nonFinite", schema::whole("NaN or infinite."))
                .required("hidden", schema::whole("Trend flag hidden.")),
        )
        .optional(
            "buckets",
            schema::list(
                "One entry per interval that holds records; half-open, aligned to 'from'.",
                object()
                    .required("start", schema::string("Start of the interval."))
                    .required("startMs", schema::whole("Start in epoch milliseconds."))
                    .required("count", schema::whole("All records of the interval."))
                    .required("used", schema::whole("Records that took part."))
                    .optional("min", any_number("Smallest value."))
                    .optional("max", any_number("Largest value."))
                    .optional("avg", any_number("Mean value.")),
            ),
        )
}

enum Answer {
    Records(Vec<HistorySample>),
    Aggregates(Aggregator),
}

impl Answer {
    fn new(aggregator: Option<Aggregator>) -> Self {
        aggregator.map_or_else(|| Self::Records(Vec::new()), Self::Aggregates)
    }

    fn take(&mut self, sample: HistorySample) {
        match self {
            Self::Records(records) => records.push(sample),
            Self::Aggregates(aggregator) => aggregator.add(&sample),
        }
    }

    fn finish(self, map: &mut Map<String, Value>, read: HistoryRead, zone: &chrono_tz::Tz) {
        map.insert("rows".to_owned(), json!(read.rows));
        map.insert(
            "truncatedByLimit".to_owned(),
            json!(read.truncated_by_limit),
        );
        map.insert(
            "truncatedByTimeout".to_owned(),
            json!(read.truncated_by_timeout),
        );
        map.insert("historyId".to_owned(), json!(read.history_id));
        if let Some(kind) = read.kind {
            map.insert("type".to_owned(), json!(kind.name()));
        }
        if let Some(units) = &read.units {
            map.insert("units".to_owned(), json!(units));
        }
        map.insert("statusAvailable".to_owned(), json!(read.status_available));
        map.insert("archiveIncluded".to_owned(), json!(false));
        if let Some(next) = &read.next_from {
            map.insert("nextFrom".to_owned(), json!(time_text(next)));
            if read.next_from_repeats > 0 {
                map.insert("nextFromRepeats".to_owned(), json!(read.next_from_repeats));
            }
        }
        if read.possibly_lost {
            map.insert("samplesPossiblyLost".to_owned(), json!(true));
        }
        match self {
            Self::Records(records) => put_records(map, records, &read.boolean_texts),
            Self::Aggregates(aggregator) => put_aggregates(map, &aggregator, zone),
        }
    }
}

fn put_records(
    map: &mut Map<String, Value>,
    mut records: Vec<HistorySample>,
    boolean_texts: &[String; 2],
) {
    if !records.is_sorted_by_key(|record| record.timestamp) {
        records.sort_by_key(|record| record.timestamp);
        map.insert("timesOutOfOrder".to_owned(), json!(true));
    }
    let records = records
        .iter()
        .map(|record| record_json(record, boolean_texts))
        .collect();
    map.insert("records".to_owned(), Value::Array(records));
}

fn record_json(sample: &HistorySample, [false_text, true_text]: &[String; 2]) -> Value {
    let mut map = Map::new();
    map.insert("timestamp".to_owned(), json!(time_text(&sample.timestamp)));
    map.insert(
        "timestampMs".to_owned(),
        json!(sample.timestamp.timestamp_millis()),
    );
    match &sample.value {
        SampleValue::Number(number) => put_number(&mut map, "value", *number),
        SampleValue::Boolean(flag) => {
            map.insert("value".to_owned(), json!(u8::from(*flag)));
            map.insert("type".to_owned(), json!("boolean"));
            let shown = if *flag { true_text } else { false_text };
            map.insert("toString".to_owned(), json!(shown));
        }
        SampleValue::Enum { tag, ordinal } => {
            // The tag as the station's range spells it, so that it can be compared and written back.
            map.insert("value".to_owned(), json!(escape(tag)));
            map.insert("type".to_owned(), json!("enum"));
            map.insert("toString".to_owned(), json!(tag));
            if let Some(ordinal) = ordinal {
                map.insert("ordinal".to_owned(), json!(ordinal));
            }
        }
        SampleValue::Text(text) => {
            map.insert("value".to_owned(), json!(text));
            map.insert("type".to_owned(), json!("string"));
            map.insert("toString".to_owned(), json!(text));
        }
        SampleValue::Missing => {
            map.insert("value".to_owned(), Value::Null);
        }
    }
    if let Some(status) = sample.status {
        map.insert("status".to_owned(), json!(status_text(status)));
        if !status.is_valid() {
            map.insert("valid".to_owned(), json!(false));
        }
    }
    if !sample.trend_flags.is_empty() {
        map.insert("trendFlags".to_owned(), json!(sample.trend_flags));
    }
    Value::Object(map)
}

fn put_aggregates(map: &mut Map<String, Value>, aggregator: &Aggregator, zone: &chrono_tz::Tz) {
    map.insert("count".to_owned(), json!(aggregator.count()));
    let used = aggregator.summary().map_or(0, |summary| summary.used);
    map.insert("used".to_owned(), json!(used));
    if let Some(summary) = aggregator.summary() {
        put_summary(map, &summary);
        map.insert("sum".to_owned(), json!(summary.sum));
    }
    let excluded = aggregator.excluded();
    map.insert(
        "excluded".to_owned(),
        json!({
            "null": excluded.null,
            "fault": excluded.fault,
            "nonFinite": excluded.non_finite,
            "hidden": excluded.hidden,
        }),
    );
    if let Some(buckets) = aggregator.buckets() {
        let buckets = buckets
            .map(|bucket| {
                let mut entry = Map::new();
                let start = DateTime::from_timestamp_millis(bucket.start_ms)
                    .map(|start| time_text(&start.with_timezone(zone).fixed_offset()));
                entry.insert("start".to_owned(), json!(start.unwrap_or_default()));
                entry.insert("startMs".to_owned(), json!(bucket.start_ms));
                entry.insert("count".to_owned(), json!(bucket.count));
                entry.insert(
                    "used".to_owned(),
                    json!(bucket.summary.map_or(0, |summary| summary.used)),
                );
                if let Some(summary) = &bucket.summary {
                    put_summary(&mut entry, summary);
                }
                Value::Object(entry)
            })
            .collect();
        map.insert("buckets".to_owned(), Value::Array(buckets));
    }
}

fn put_summary(map: &mut Map<String, Value>, summary: &Summary) {
    map.insert("min".to_owned(), json!(summary.min));
    map.insert("max".to_owned(), json!(summary.max));
    map.insert("avg".to_owned(), json!(summary.average()));
}
