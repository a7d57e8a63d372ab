//! Writing frames (Fox specification §2, §3).

/// A frame to send.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    kind: char,
    sequence: i32,
    reply: i32,
    command: &'static str,
    fields: Vec<(&'static str, Field)>,
}

#[derive(Clone, Debug)]
enum Field {
    Text(String),
    Integer(u32),
    Blob(Vec<u8>),
    Object {
        encoding: &'static str,
        text: String,
    },
}

impl Frame {
    /// A frame of the channel `fox` that answers nothing.
    pub(super) fn new(kind: char, sequence: i32, command: &'static str) -> Self {
        Self {
            kind,
            sequence,
            reply: -1,
            command,
            fields: Vec::new(),
        }
    }

    pub(super) fn replying_to(mut self, sequence: i32) -> Self {
        self.reply = sequence;
        self
    }

    /// Adds text; line ends in it, which would end the field, become blanks.
    pub(super) fn text(mut self, key: &'static str, value: &str) -> Self {
        let value = value.replace(['\n', '\r'], " ");
        self.fields.push((key, Field::Text(value)));
        self
    }

    pub(super) fn integer(mut self, key: &'static str, value: u32) -> Self {
        self.fields.push((key, Field::Integer(value)));
        self
    }

    pub(super) fn blob(mut self, key: &'static str, octets: &[u8]) -> Self {
        self.fields.push((key, Field::Blob(octets.to_vec())));
        self
    }

    pub(super) fn object(mut self, key: &'static str, encoding: &'static str, text: &str) -> Self {
        let text = text.to_owned();
        self.fields.push((key, Field::Object { encoding, text }));
        self
    }

    /// The frame without one of its fields.
    pub(super) fn without(mut self, key: &str) -> Self {
        self.fields.retain(|(name, _)| *name != key);
        self
    }

    /// The frame's octets, with the line ends of stations.
    pub(super) fn encode(&self) -> Vec<u8> {
        self.encode_with("\n")
    }

    /// The frame's octets with other line ends; octets of blobs and objects stay as they are.
    pub(super) fn encode_with(&self, line_end: &str) -> Vec<u8> {
        let mut octets = format!(
            "fox {} {} {} fox {}{line_end}{{{line_end}",
            self.kind, self.sequence, self.reply, self.command
        )
        .into_bytes();
        for (key, field) in &self.fields {
            octets.extend_from_slice(key.as_bytes());
            match field {
                Field::Text(text) => octets.extend_from_slice(format!("=s:{text}").as_bytes()),
                Field::Integer(number) => {
                    octets.extend_from_slice(format!("=i:{number}").as_bytes());
                }
                Field::Blob(blob) => {
                    octets.extend_from_slice(format!("=b:{}[", blob.len()).as_bytes());
                    octets.extend_from_slice(blob);
                    octets.push(b']');
                }
                Field::Object { encoding, text } => {
                    octets.extend_from_slice(
                        format!("=o:{encoding} {}[{text}]", text.len()).as_bytes(),
                    );
                }
            }
            octets.extend_from_slice(line_end.as_bytes());
        }
        octets.extend_from_slice(format!("}};;{line_end}").as_bytes());
        octets
    }
}
