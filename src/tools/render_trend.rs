//! `renderTrend`: a picture of stored trends and live histories (design, "Categories of ours").

use chrono_tz::Tz;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::capability::CapabilityAccess;
use super::change_point_picture::{ChangePointRequest, declared};
use super::drift_picture::DriftRequest;
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::station_access::{SharedStations, scope, sentence, station_error};
use super::trend_answer::{answer, image_block, output_schema};
use super::trend_request::{Axis, TrendRequest, Window};
use super::trend_samples::{Drawn, Samples};
use super::{Arguments, CallContext, ToolError, live_trends, stored_trends};
use crate::clock::SharedClock;
use crate::plot::trend::{MOST_SERIES, MOST_SPANS};
use crate::plot::{ImageFormat, ImageSize, Picture, PlotError, TrendChart};

/// Width of a picture, and height of a scatter, in pixels unless the caller says otherwise.
const USUAL_WIDTH: u32 = 960;
const USUAL_SCATTER: u32 = 540;

/// `renderTrend`.
pub struct RenderTrend {
    pub stations: SharedStations,
    pub capabilities: CapabilityAccess,
    pub clock: SharedClock,
}

impl Tool for RenderTrend {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "renderTrend",
            Category::History,
            Annotations::READ,
            "Draws up to 8 points over time as one picture: live histories of the station (by 'ord' of the point or by \
             'history' id) and stored trends (by 'equip' and 'role', as the capability points lists them). Points of \
             one unit share an axis, two units share a panel; gaps in the data stay open, states are steps, values \
             recorded on change hold until the next; 'spans' are shaded, for example the spans of finding_detail. The extremes of every \
             pixel column are kept. Other kinds draw the residuals behind a \
             finding of drift, and the change-point model of a meter. The picture is image content; structuredContent \
             tells what it shows. PNG suits people and models, SVG documents. Times are RFC 3339, epoch milliseconds or a date; without an offset \
             they are local time. Example: {\"points\":[{\"ord\":\"station:|slot:/Drivers/BacnetNetwork/AHU1/points/SAT\"},\
             {\"equip\":\"AHU-1\",\"role\":\"supply_air_temp\"}],\"from\":\"2026-03-01\",\"to\":\"2026-03-02\"}.",
        )
        .input(
            object()
                .optional(
                    "kind",
                    schema::one_of(
                        "trend: points over time. drift: residuals behind a finding of the capability drift, with its \
                         alarm. changePoint: days of a stored meter over outdoor temperature, with the model of the \
                         baseline and its band. trend when absent.",
                        &["trend", "drift", "changePoint"],
                    ),
                )
                .optional("points", points_schema())
                .optional("from", schema::string("trend: start of the time axis."))
                .optional("to", schema::string("trend: end of the time axis; now when absent."))
                .optional(
                    "spans",
                    json!({
                        "type": "array",
                        "description": "trend: times to shade; spans of one label have one colour.",
                        "maxItems": MOST_SPANS,
                        "items": {
                            "type": "object",
                            "properties": {
                                "start": schema::string("Start of the span."),
                                "end": schema::string("End of the span."),
                                "label": schema::string("What the span means; the legend tells it."),
                            },
                            "required": ["start", "end"],
                            "additionalProperties": false,
                        },
                    }),
                )
                .optional(
                    "facility",
                    schema::string("drift, changePoint: id of the facility; the station's own when absent."),
                )
                .optional(
                    "finding",
                    schema::string("drift: id of the finding, for example ahu:fan_efficiency_drift@AHU-1."),
                )
                .optional(
                    "entry",
                    json!({
                        "type": "integer",
                        "description": "changePoint: place in the list mv of the facility's run configuration, from 0. The \
                                        role and times of the entry count where 'meter', 'baseline' and 'reporting' \
                                        do not give them.",
                        "minimum": 0,
                    }),
                )
                .optional("meter", stored_point("changePoint: the meter, a stored trend of a rate such as kW; with 'entry' equip alone is enough."))
                .optional(
                    "weather",
                    stored_point("changePoint: the outdoor temperature; when absent, role oat of the meter's equipment, else the one that the facility shares."),
                )
                .optional(
                    "baseline",
                    period("drift: known-good time, as in the capability; changePoint: days to fit."),
                )
                .optional("current", period("drift: time to judge, as in the capability."))
                .optional("reporting", period("changePoint: days to compare with the model."))
                .optional("title", schema::string("Title above the picture."))
                .optional("format", schema::one_of("Format of the picture; png when absent.", &["png", "svg"]))
                .optional("width", pixels("Width in pixels.", &ImageSize::WIDTHS, i64::from(USUAL_WIDTH)))
                .optional(
                    "height",
                    json!({
                        "type": "integer",
                        "description": "Height in pixels; as many as the units need when absent.",
                        "minimum": ImageSize::HEIGHTS.start(),
                        "maximum": ImageSize::HEIGHTS.end(),
                    }),
                ),
        )
        .output(output_schema())
        .refusing_out_of_range(&["width", "height"])
        .refusing_unknown()
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match arguments.optional_string("kind") {
                Some("drift") => self.drift(context, &arguments).await,
                Some("changePoint") => self.change_point(context, &arguments).await,
                _ => self.trend(context, &arguments).await,
            }
        })
    }
}

/// Draws off the threads of other requests: some ten milliseconds of work.
async fn drawn<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| {
        ToolError::internal("The picture could not be drawn; the log has the details.")
            .with("kind", "fault")
    })?
}

impl RenderTrend {
    async fn trend(&self, context: &CallContext, arguments: &Arguments) -> ToolResult {
        let request = TrendRequest::of(arguments)?;
        let (axis, window) = self.window(context, &request).await?;
        let samples = self.samples(context, &request, axis, &window).await?;
        let (chart, points) = chart(&request, &window, samples);
        let look = Look::of(arguments);
        let size = look.size(chart.usual_height())?;
        let told = drawn(move || {
            let (picture, report) = chart.render(look.format, size).map_err(not_drawn)?;
            Ok((answer(&chart, &points, &picture, &report), picture))
        });
        told.await.map(output)
    }

    async fn drift(&self, context: &CallContext, arguments: &Arguments) -> ToolResult {
        let request = DriftRequest::of(arguments, &self.capabilities)?;
        let chart = request.chart(&self.capabilities, context).await?;
        let look = Look::of(arguments);
        let size = look.size(chart.usual_height())?;
        let told = drawn(move || {
            let picture = chart.render(look.format, size).map_err(not_drawn)?;
            Ok((request.answer(&chart, &picture), picture))
        });
        told.await.map(output)
    }

    async fn change_point(&self, context: &CallContext, arguments: &Arguments) -> ToolResult {
        let declared = declared(arguments, &self.capabilities, context).await?;
        let mut request = ChangePointRequest::of(arguments, &self.capabilities, declared.as_ref())?;
        let samples = request.samples(&self.capabilities, context).await?;
        let look = Look::of(arguments);
        let size = look.size(USUAL_SCATTER)?;
        let told = drawn(move || {
            let fitted = request.fitted(samples)?;
            let picture = fitted.chart.render(look.format, size).map_err(not_drawn)?;
            Ok((request.answer(&fitted, &picture), picture))
        });
        told.await.map(output)
    }

    /// Whose clock the axis has, and from when to when it goes.
    async fn window(
        &self,
        context: &CallContext,
        request: &TrendRequest,
    ) -> Result<(Axis, Window), ToolError> {
        let axis = match request.has_live_points() {
            true => Axis::Instants(self.station_zone(context).await?),
            false => Axis::WallClock(self.facility_zone(context, request).await?),
        };
        let window = request.window(axis, self.clock.now())?;
        Ok((axis, window))
    }

    async fn station_zone(&self, context: &CallContext) -> Result<Tz, ToolError> {
        let station = self.stations.for_caller(&context.principal)?;
        let zone = station.zone(&scope(context)).await;
        zone.map_err(|error| station_error(error, "history:"))
    }

    async fn facility_zone(
        &self,
        context: &CallContext,
        request: &TrendRequest,
    ) -> Result<Option<Tz>, ToolError> {
        match request.facility(&self.capabilities)? {
            Some(facility) => stored_trends::zone(&self.capabilities, context, &facility).await,
            None => Ok(None),
        }
    }

    /// The samples of all points in their order.
    async fn samples(
        &self,
        context: &CallContext,
        request: &TrendRequest,
        axis: Axis,
        window: &Window,
    ) -> Result<Vec<Samples>, ToolError> {
        let stored = stored_trends::read(&self.capabilities, context, request, axis, window);
        let live = live_trends::read(&self.stations, context, request, window);
        let (stored, live) = futures::try_join!(stored, live)?;
        let mut all: Vec<(usize, Samples)> = stored.into_iter().chain(live).collect();
        all.sort_by_key(|(place, _)| *place);
        Ok(all.into_iter().map(|(_, samples)| samples).collect())
    }
}

fn stored_point(description: &str) -> Value {
    json!({
        "type": "object",
        "description": description,
        "properties": {
            "equip": schema::string("Id of the equipment."),
            "role": schema::string("Role of the point."),
        },
        "additionalProperties": false,
    })
}

fn period(description: &str) -> Value {
    json!({
        "type": "array",
        "description": description,
        "minItems": 2,
        "maxItems": 2,
        "items": {"type": ["string", "null"], "description": "Time of the site's wall clock."},
    })
}

fn points_schema() -> Value {
    json!({
        "type": "array",
        "description": "trend: points to draw; each has either ord, or history, or equip and role.",
        "minItems": 1,
        "maxItems": MOST_SERIES,
        "items": {
            "type": "object",
            "properties": {
                "ord": schema::string("Live: ord of a control point with a history, of a history extension, or a history ord."),
                "history": schema::string("Live: history id as listHistories shows it, /station/name."),
                "equip": schema::string("Stored: id of the equipment."),
                "role": schema::string("Stored: role of the point, for example supply_air_temp."),
                "facility": schema::string("Stored: id of the facility; the station's own when absent."),
                "label": schema::string("Name in the legend."),
            },
            "additionalProperties": false,
        },
    })
}

fn pixels(description: &str, bounds: &std::ops::RangeInclusive<u32>, default: i64) -> Value {
    schema::integer_between(
        description,
        i64::from(*bounds.start()),
        i64::from(*bounds.end()),
        default,
    )
}

fn chart(
    request: &TrendRequest,
    window: &Window,
    samples: Vec<Samples>,
) -> (TrendChart, Vec<Drawn>) {
    let (series, drawn) = samples
        .into_iter()
        .map(|samples| (samples.series, samples.drawn))
        .unzip();
    let chart = TrendChart {
        title: request.title.clone(),
        axis: window.axis.clone(),
        series,
        spans: window.spans.clone(),
    };
    (chart, drawn)
}

/// Format and size that a caller asks for.
#[derive(Debug, Clone, Copy)]
struct Look {
    format: ImageFormat,
    width: u32,
    height: Option<u32>,
}

impl Look {
    fn of(arguments: &Arguments) -> Self {
        let pixels = |name: &str| {
            let given = arguments.optional_integer(name);
            given.map(|given| u32::try_from(given.max(0)).unwrap_or(u32::MAX))
        };
        let format = arguments.optional_string("format");
        Self {
            format: format
                .and_then(ImageFormat::from_name)
                .unwrap_or(ImageFormat::Png),
            width: pixels("width").unwrap_or(USUAL_WIDTH),
            height: pixels("height"),
        }
    }

    fn size(&self, usual_height: u32) -> Result<ImageSize, ToolError> {
        let height = self.height.unwrap_or(usual_height);
        ImageSize::new(self.width, height).map_err(not_drawn)
    }
}

fn not_drawn(error: PlotError) -> ToolError {
    let argument = match &error {
        PlotError::Size { .. } | PlotError::TooLow { .. } => "height",
        PlotError::TooMany { what: "spans", .. } => "spans",
        PlotError::TooMany {
            what: "samples", ..
        } => {
            return ToolError::invalid_params(format!(
                "{}; choose a shorter window.",
                sentence(&error).trim_end_matches('.')
            ))
            .with("argument", "from");
        }
        PlotError::TooMany { .. } | PlotError::Uneven { .. } => "points",
        PlotError::EmptyWindow => "to",
        PlotError::Drawing(_) => {
            tracing::error!(%error, "a picture could not be drawn");
            return ToolError::internal(sentence(&error)).with("kind", "fault");
        }
    };
    ToolError::invalid_params(sentence(&error)).with("argument", argument)
}

fn output((told, picture): (Map<String, Value>, Picture)) -> ToolOutput {
    ToolOutput::json_and(told, [image_block(&picture)])
}
