//! The message that answers a message.

use super::forward::Known;
use super::{
    Answer, CLASS_ANY, CLASS_IN, Dns64, Edns, Found, Header, Kind, Learned, Message, Name, Question, Record, Source,
    Zone,
};

/// The longest datagram that we send or take: it fits the least MTU of IPv6 (RFC 9715 section 3).
pub const OUR_UDP_BYTES: u16 = 1232;
/// The longest datagram that every client takes: RFC 1035 section 2.3.4.
const LEAST_UDP_BYTES: u16 = 512;

/// The transport that carries a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A datagram.
    Udp,
    /// A connection, where a message comes after its length: RFC 7766.
    Tcp,
}

crate::named! {
    /// The result of a question.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Outcome by name {
        /// Answered with records that there are.
        Answered = "answered",
        /// Answered with records made of others.
        Synthesised = "synthesised",
        /// The name has no such records.
        NoData = "no-data",
        /// There is no such name.
        NoName = "no-name",
        /// It could not be found out.
        Failed = "failed",
        /// The message was flawed.
        Malformed = "malformed",
        /// It was no question.
        NotImplemented = "not-implemented",
        /// A transfer, another class, or a name of another server in a question that asks for no others to be asked.
        Refused = "refused",
        /// EDNS of a version that there is not.
        BadVersion = "bad-version",
    }
}

impl Outcome {
    /// RFC 1035 section 4.1.1, RFC 6891 section 9.
    fn rcode(self) -> u16 {
        match self {
            Self::Answered | Self::Synthesised | Self::NoData => 0,
            Self::Malformed => 1,
            Self::Failed => 2,
            Self::NoName => 3,
            Self::NotImplemented => 4,
            Self::Refused => 5,
            Self::BadVersion => 16,
        }
    }
}

crate::named! {
    /// The reason why a message is not answered at all.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Ignored by name {
        /// It is too short for a header.
        Short = "short",
        /// It is an answer itself, so that two servers could go on for ever.
        Response = "response",
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The bytes of the answer, without the length that precedes it over TCP.
    pub message: Vec<u8>,
    /// The result of the question.
    pub outcome: Outcome,
    /// True if the records did not fit (TC), so that the client is to try TCP.
    pub is_truncated: bool,
}

/// The next step for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// It is answered.
    Reply(Reply),
    /// The server of forwarded names is asked; with its answer the message is handled again.
    Ask(Question),
}

/// Answers messages.
#[derive(Debug, Clone)]
pub struct Responder {
    /// The names that it answers for itself.
    pub zone: Zone,
    /// The zone whose names it asks another server for, but for those that are in its own; if any.
    pub forwarded: Option<Name>,
    /// The synthesis of records from those that it knows or learns, if any.
    pub dns64: Option<Dns64>,
}

impl Responder {
    /// The answer to a message, whatever its bytes are, or what has to be asked first. `learned`: what was asked for
    /// this message until now.
    pub fn reply(&self, message: &[u8], transport: Transport, learned: &[Learned]) -> Result<Next, Ignored> {
        let header = Header::parse(message).ok_or(Ignored::Short)?;
        if header.is_response() {
            return Err(Ignored::Response);
        }
        let is_authoritative = learned.is_empty();
        let mut draft = Draft { header, question: None, edns: None, answer: None, is_authoritative };
        let outcome = match self.judge(message, &mut draft, learned) {
            Ok(outcome) => outcome,
            Err(question) if header.wants_recursion() => return Ok(Next::Ask(question)),
            Err(_) => Outcome::Refused,
        };
        let limit_bytes = match transport {
            Transport::Tcp => usize::from(u16::MAX),
            Transport::Udp => {
                let taken = draft.edns.map_or(LEAST_UDP_BYTES, |edns| edns.udp_bytes);
                taken.clamp(LEAST_UDP_BYTES, OUR_UDP_BYTES).into()
            }
        };
        let (message, is_truncated) = draft.emit(outcome, limit_bytes);
        Ok(Next::Reply(Reply { message, outcome, is_truncated }))
    }

    fn judge(&self, message: &[u8], draft: &mut Draft, learned: &[Learned]) -> Result<Outcome, Question> {
        let is_query = draft.header.opcode() == 0;
        let unread = if is_query { Outcome::Malformed } else { Outcome::NotImplemented };
        let Ok(Message { header, questions, edns, .. }) = Message::parse(message) else { return Ok(unread) };
        // A question with an OPT record is answered with one: RFC 6891 section 6.1.1.
        draft.edns = edns;
        let Ok([question]) = <[Question; 1]>::try_from(questions) else { return Ok(unread) };
        let question = draft.question.insert(question);
        if !is_query {
            return Ok(Outcome::NotImplemented);
        }
        if edns.is_some_and(|edns| edns.version != 0) {
            return Ok(Outcome::BadVersion);
        }
        if ![CLASS_IN, CLASS_ANY].contains(&question.class) || [Kind::AXFR, Kind::IXFR].contains(&question.kind) {
            return Ok(Outcome::Refused);
        }
        let validates = header.is_checking_disabled() && edns.is_some_and(|edns| edns.wants_dnssec);
        let source = Known { zone: &self.zone, forwarded: self.forwarded.as_ref(), learned };
        let answer = match &self.dns64 {
            Some(dns64) => dns64.answer(&source, &question.name, question.kind, validates)?,
            None => Answer::plain(source.find(&question.name, question.kind)?),
        };
        let outcome = match &answer.found {
            Found::Data(_) if answer.is_synthesised => Outcome::Synthesised,
            Found::Data(_) => Outcome::Answered,
            Found::NoName(_) => Outcome::NoName,
            Found::NoData(_) => Outcome::NoData,
            Found::Failed => Outcome::Failed,
        };
        draft.answer = Some(answer);
        Ok(outcome)
    }
}

/// An answer before it is written.
struct Draft {
    header: Header,
    question: Option<Question>,
    edns: Option<Edns>,
    answer: Option<Answer>,
    /// True if the answer is from the server's own zone alone.
    is_authoritative: bool,
}

impl Draft {
    fn emit(&self, outcome: Outcome, limit_bytes: usize) -> (Vec<u8>, bool) {
        let root = Name::root();
        let asked = self.question.as_ref().map_or(&root, |question| &question.name);
        let (answers, authority): (&[Record], Option<&Record>) = match self.answer.as_ref().map(|answer| &answer.found)
        {
            Some(Found::Data(records)) => (records, None),
            // The SOA record says for how long the absence may be kept: RFC 2308 section 3.
            Some(Found::NoData(absence) | Found::NoName(absence)) => (&absence.aliases, absence.authority.as_ref()),
            Some(Found::Failed) | None => (&[], None),
        };
        let opt = self.edns.map(|edns| Edns { udp_bytes: OUR_UDP_BYTES, version: 0, ..edns }.emit(outcome.rcode()));
        let mut records: Vec<u8> = answers.iter().chain(authority).flat_map(|record| record.emit(asked)).collect();
        let question = self.question.as_ref().map_or_else(Vec::new, Question::emit);
        let fixed_bytes = super::HEADER_BYTES + question.len() + opt.map_or(0, |opt| opt.len());
        let is_truncated = fixed_bytes + records.len() > limit_bytes;
        let [has_question, has_authority, has_opt] =
            [self.question.is_some(), authority.is_some(), opt.is_some()].map(u16::from);
        let mut counts = [has_question, answers.len() as u16, has_authority, has_opt];
        if is_truncated {
            records.clear();
            (counts[1], counts[2]) = (0, 0);
        }
        let added = Header::RECURSION_AVAILABLE
            | if is_truncated { Header::TRUNCATED } else { 0 }
            | if self.answer.is_some() && self.is_authoritative { Header::AUTHORITATIVE } else { 0 };
        let mut message = Vec::with_capacity(fixed_bytes + records.len());
        message.extend(self.header.id.to_be_bytes());
        message.extend(self.header.answer_flags(added, outcome.rcode() as u8).to_be_bytes());
        message.extend(counts.iter().flat_map(|count| count.to_be_bytes()));
        message.extend(question);
        message.extend(records);
        message.extend(opt.iter().flatten());
        (message, is_truncated)
    }
}
