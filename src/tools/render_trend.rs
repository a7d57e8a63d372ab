//! `renderTrend`: a picture of stored trends and live histories (design, "Categories of ours").

use chrono_tz::Tz;
use futures::future::BoxFuture;
use serde_json::json;

use super::capability::CapabilityAccess;
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::station_access::{SharedStations, scope, sentence, station_error};
use super::trend_answer::{answer, image_block, output_schema};
use super::trend_request::{Axis, TrendRequest, Window};
use super::trend_samples::{Drawn, Samples};
use super::{Arguments, CallContext, ToolError, live_trends, stored_trends};
use crate::clock::SharedClock;
use crate::plot::trend::{MOST_SERIES, MOST_SPANS};
use crate::plot::{ImageSize, Picture, PlotError, TrendChart, TrendReport};

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
             one unit share an axis, two units share a panel; gaps in the data stay open, values recorded on change \
             hold until the next; 'spans' are shaded, for example the spans of finding_detail. The extremes of every \
             pixel column are kept. The picture is image content; structuredContent tells what it shows. PNG suits \
             people and models, SVG documents. Times are RFC 3339, epoch milliseconds or a date; without an offset \
             they are local time. Example: {\"points\":[{\"ord\":\"station:|slot:/Drivers/BacnetNetwork/AHU1/points/SAT\"},\
             {\"equip\":\"AHU-1\",\"role\":\"supply_air_temp\"}],\"from\":\"2026-03-01\",\"to\":\"2026-03-02\"}.",
        )
        .input(
            object()
                .required("points", points_schema())
                .required("from", schema::string("Start of the time axis."))
                .optional("to", schema::string("End of the time axis; now when absent."))
                .optional(
                    "spans",
                    json!({
                        "type": "array",
                        "description": "Times to shade; spans of one label have one colour.",
                        "maxItems": MOST_SPANS,
                        "items": {
                            "type": "object",
                            "properties": {
                                "start": schema::string("Start of the span."),
                                "end": schema::string("End of the span."),
                                "label": schema::string("What the span means; the legend tells it."),
                            },
                            "required": ["start", "end"],
                        },
                    }),
                )
                .optional("title", schema::string("Title above the picture."))
                .optional("format", schema::one_of("Format of the picture; png when absent.", &["png", "svg"]))
                .optional("width", pixels("Width in pixels.", &ImageSize::WIDTHS, 960))
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
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let request = TrendRequest::of(&arguments)?;
            let (axis, window) = self.window(context, &request).await?;
            let samples = self.samples(context, &request, axis, &window).await?;
            let (chart, drawn) = chart(&request, &window, samples);
            let size = size(&request, &chart)?;
            let format = request.format;
            // Some ten milliseconds of work: not between the requests of others.
            let painted = tokio::task::spawn_blocking(move || {
                chart.render(format, size).map(|outcome| (chart, outcome))
            });
            let (chart, (picture, report)) = painted
                .await
                .map_err(|_| {
                    ToolError::internal("The picture could not be drawn; the log has the details.")
                        .with("kind", "fault")
                })?
                .map_err(not_drawn)?;
            Ok(output(&chart, &drawn, &picture, &report))
        })
    }
}

impl RenderTrend {
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

fn points_schema() -> serde_json::Value {
    json!({
        "type": "array",
        "description": "Points to draw; each has either ord, or history, or equip and role.",
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

fn pixels(
    description: &str,
    bounds: &std::ops::RangeInclusive<u32>,
    default: i64,
) -> serde_json::Value {
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

fn size(request: &TrendRequest, chart: &TrendChart) -> Result<ImageSize, ToolError> {
    let height = request.height.unwrap_or_else(|| chart.usual_height());
    ImageSize::new(request.width, height).map_err(not_drawn)
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

fn output(
    chart: &TrendChart,
    drawn: &[Drawn],
    picture: &Picture,
    report: &TrendReport,
) -> ToolOutput {
    let told = answer(chart, drawn, picture, report);
    ToolOutput::json_and(told, [image_block(picture)])
}
