//! Many objects in one request (oBIX specification §8).

use super::client::ObixClient;
use super::encode::batch_read;
use super::href::{ObixPath, Reference, resolve};
use super::object::{Element, Object};
use super::point::ValueReading;
use crate::station::error::StationError;
use crate::station::http::{CallScope, TimeoutClass};

/// Members per request.
const CHUNK: usize = 100;

/// One answer per path, in the order of the paths.
pub type Answers<T> = Vec<Result<T, StationError>>;

impl ObixClient {
    /// Reads many objects; a member that fails does not fail the others.
    ///
    /// A station without batch operation, or one that refuses it, is asked for one object after the other; when the
    /// time is over, the objects not yet read have the error of that.
    ///
    /// # Errors
    /// [`StationError::Protocol`] when the answers cannot be matched to the requests.
    pub async fn read_many(
        &self,
        scope: &CallScope,
        paths: &[ObixPath],
    ) -> Result<Answers<Object>, StationError> {
        let mut answers = Vec::with_capacity(paths.len());
        for chunk in paths.chunks(CHUNK) {
            match self.batch(scope).await? {
                Some(batch) => match self.read_batch(scope, &batch, chunk).await {
                    Ok(members) => answers.extend(members),
                    Err(error) if is_refusal(&error) => {
                        let members = self.read_singly(scope, chunk).await?;
                        // A station that answers nothing else either says nothing of batches.
                        if members.iter().any(Result::is_ok) {
                            self.remember_refused_batch(&error);
                        }
                        answers.extend(members);
                    }
                    // What earlier batches brought is kept.
                    Err(error) if is_out_of_time(&error) && !answers.is_empty() => {
                        answers.resize_with(paths.len(), || Err(error.clone()));
                        break;
                    }
                    Err(error) => return Err(error),
                },
                None => answers.extend(self.read_singly(scope, chunk).await?),
            }
        }
        Ok(answers)
    }

    async fn read_batch(
        &self,
        scope: &CallScope,
        batch: &ObixPath,
        paths: &[ObixPath],
    ) -> Result<Answers<Object>, StationError> {
        let document = self
            .ask(
                scope,
                batch,
                batch,
                &batch_read(paths),
                TimeoutClass::Standard,
            )
            .await?;
        let members = match_members(batch, paths, document.root)?;
        let answers = paths
            .iter()
            .zip(members)
            .map(|(path, member)| match member.element {
                Element::Err => Err(self.asked(path, |asked| asked.error_object(&member))),
                _ => Ok(member),
            });
        Ok(answers.collect())
    }

    async fn read_singly(
        &self,
        scope: &CallScope,
        paths: &[ObixPath],
    ) -> Result<Answers<Object>, StationError> {
        let mut answers: Answers<Object> = Vec::with_capacity(paths.len());
        for path in paths {
            match per_member(self.get(scope, path).await.map(|document| document.root)) {
                Ok(answer) => answers.push(answer),
                // What was read in time is kept; the rest was too late.
                Err(error) if is_out_of_time(&error) && !answers.is_empty() => {
                    answers.resize_with(paths.len(), || Err(error.clone()));
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(answers)
    }

    /// Reads the outputs of many points; the answers are in the order of the points.
    pub async fn read_values(
        &self,
        scope: &CallScope,
        points: &[ObixPath],
    ) -> Result<Answers<ValueReading>, StationError> {
        let outputs: Vec<ObixPath> = points.iter().map(|point| point.child("out")).collect();
        let answers = self.read_many(scope, &outputs).await?;
        let values = points.iter().zip(answers);
        Ok(values
            .map(|(point, answer)| self.reading(point.clone(), &answer?, None))
            .collect())
    }
}

/// The station does not want batches; an answer that cannot be matched is no such refusal.
fn is_refusal(error: &StationError) -> bool {
    matches!(
        error,
        StationError::NotFound { .. }
            | StationError::InterfaceMissing { .. }
            | StationError::PermissionDenied { .. }
            | StationError::BadQuery { .. }
            | StationError::Server { .. }
    )
}

fn is_out_of_time(error: &StationError) -> bool {
    matches!(
        error,
        StationError::Timeout { .. } | StationError::Queued { .. }
    )
}

/// Failures of one object stay with it; failures of the connection end the whole.
fn per_member<T>(
    outcome: Result<T, StationError>,
) -> Result<Result<T, StationError>, StationError> {
    match outcome {
        Err(
            error @ (StationError::NotFound { .. }
            | StationError::PermissionDenied { .. }
            | StationError::BadQuery { .. }
            | StationError::Server { .. }
            | StationError::Protocol { .. }),
        ) => Ok(Err(error)),
        Err(error) => Err(error),
        Ok(value) => Ok(Ok(value)),
    }
}

/// Members by position: some answers carry no reference. Where there is one it must fit.
fn match_members(
    batch: &ObixPath,
    paths: &[ObixPath],
    answer: Object,
) -> Result<Vec<Object>, StationError> {
    let mismatch = |found: String| StationError::Protocol {
        target: batch.to_string(),
        expected: "one answer per batch member, in order",
        found,
    };
    if answer.element != Element::List {
        return Err(mismatch(format!("<{}>", answer.element.local_name())));
    }
    if answer.children.len() != paths.len() {
        return Err(mismatch(format!(
            "{} answers to {} members",
            answer.children.len(),
            paths.len()
        )));
    }
    for (path, member) in paths.iter().zip(&answer.children) {
        // A name of an error's own (its contract, a bare text) is no reference to compare.
        if let Some(Ok(Reference::Object(echoed))) = member.href().map(|href| resolve(path, href))
            && !echoed.is_same_object(path)
        {
            return Err(mismatch(format!(
                "the answer of {echoed} in the place of {path}"
            )));
        }
    }
    Ok(answer.children)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::decode::decode;

    fn matched(body: &str) -> Result<Vec<Object>, StationError> {
        let paths = ["/obix/config/A%242d/out/", "/obix/config/B/out/"]
            .map(|path| ObixPath::parse(path).expect("a path"));
        match_members(
            &ObixPath::lobby().child("batch"),
            &paths,
            decode(body.as_bytes(), None).expect("valid"),
        )
    }

    #[test]
    fn members_are_matched_by_place_and_checked_by_reference() {
        let good = matched(
            r#"<list of="obix:BatchOut"><real href="https://h:443/obix/config/A$2d/out" val="1"/><err is="obix:BadUriErr"/></list>"#,
        );
        assert_eq!(good.expect("matched").len(), 2);
        for body in [
            r#"<list><real/></list>"#,
            r#"<obj><real/><real/></obj>"#,
            r#"<list><real href="/obix/config/B/out/"/><real href="/obix/config/A$2d/out/"/></list>"#,
        ] {
            assert_eq!(
                matched(body).expect_err("refused").kind(),
                "station-protocol",
                "{body}"
            );
        }
    }
}
