//! Names that another server has: the questions to it, and its answers. RFC 1034 section 5.3.3, RFC 2308, RFC 5452
//! section 9.1.

use super::{Absence, CLASS_IN, Data, Flaw, Found, Kind, Message, Name, Question, Record, RecordView, Source, Zone};

/// Aliases that are followed for one question. More are a loop, or useless.
const MAX_ALIASES: usize = 8;

/// The answer of the other server to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Learned {
    /// The question that the other server was asked.
    pub question: Question,
    /// The records that the other server has for it, or why it has none.
    pub found: Found,
}

/// The content of an answer of the other server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignAnswer {
    /// Records, or why there are none.
    Found(Found),
    /// It did not fit, so that TCP is to be tried.
    Truncated,
}

/// The own zone, and what was learned of the names that are forwarded. Those of the own zone are not.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub zone: &'a Zone,
    pub forwarded: Option<&'a Name>,
    pub learned: &'a [Learned],
}

impl Source for Known<'_> {
    fn find(&self, name: &Name, kind: Kind) -> Result<Found, Question> {
        let (mut aliases, mut at) = (Vec::new(), name.clone());
        for _ in 0..=MAX_ALIASES {
            let found = self.find_at(&at, kind)?;
            match found {
                Found::Data(records) => {
                    let next = open_end(&records, kind);
                    aliases.extend(records);
                    match next {
                        Some(target) => at = target,
                        None => return Ok(Found::Data(aliases)),
                    }
                }
                found => return Ok(after(aliases, found)),
            }
        }
        Ok(Found::Failed)
    }
}

impl Known<'_> {
    /// The records of exactly this name, with no alias followed, as far as one server knows them.
    fn find_at(&self, name: &Name, kind: Kind) -> Result<Found, Question> {
        let own = self.zone.records(name, kind);
        let is_forwarded = self.forwarded.is_some_and(|zone| name.is_within(zone));
        if !(is_forwarded && matches!(own, Found::NoName(_))) {
            return Ok(own);
        }
        let asked = |one: &&Learned| one.question.kind == kind && one.question.name == *name;
        match self.learned.iter().find(asked) {
            Some(learned) => Ok(learned.found.clone()),
            None => Err(Question::new(name.clone(), kind)),
        }
    }
}

/// The name that the last record, an alias, leads to, if more than aliases is asked for.
fn open_end(records: &[Record], kind: Kind) -> Option<Name> {
    match records.last().map(|last| &last.data) {
        Some(Data::Cname(target)) if ![Kind::CNAME, Kind::ANY].contains(&kind) => Some(target.clone()),
        _ => None,
    }
}

fn after(aliases: Vec<Record>, found: Found) -> Found {
    let longer = |absence: Absence| Absence { aliases: [aliases, absence.aliases].concat(), ..absence };
    match found {
        Found::NoData(absence) => Found::NoData(longer(absence)),
        Found::NoName(absence) => Found::NoName(longer(absence)),
        found => found,
    }
}

/// Reads a message as the answer to a question that was asked with this number. `None` if it is no answer to that
/// question, so that another message may follow.
pub fn answer_in(message: &[u8], id: u16, question: &Question) -> Option<ForeignAnswer> {
    let read = Message::parse(message).ok()?;
    let header = read.header;
    let is_of_question = matches!(&read.questions[..], [one] if one == question);
    if !(header.is_response() && header.id == id && header.opcode() == 0 && is_of_question) {
        return None;
    }
    if header.is_truncated() {
        return Some(ForeignAnswer::Truncated);
    }
    // A malformed answer counts as a failure: it is from the server, and another one would not be better.
    Some(ForeignAnswer::Found(found_in(message, &read, question).unwrap_or(Found::Failed)))
}

fn found_in(bytes: &[u8], message: &Message<'_>, question: &Question) -> Result<Found, Flaw> {
    const NAME_ERROR: u8 = 3;
    let rcode = message.header.rcode();
    if ![0, NAME_ERROR].contains(&rcode) {
        return Ok(Found::Failed);
    }
    let [answers, authorities, _] = &message.sections;
    let (mut records, mut at) = (Vec::new(), question.name.clone());
    for _ in 0..=MAX_ALIASES {
        let own: Vec<&RecordView<'_>> = answers.iter().filter(|one| one.class == CLASS_IN && one.name == at).collect();
        let is_asked = |one: &&&RecordView<'_>| [one.kind, Kind::ANY].contains(&question.kind);
        let begin = records.len();
        for one in own.iter().filter(is_asked) {
            records.push(Record::read(bytes, one)?);
        }
        if records.len() > begin {
            return Ok(Found::Data(records));
        }
        let Some(alias) = own.iter().find(|one| one.kind == Kind::CNAME) else {
            return absent(bytes, authorities, records, &at, rcode == NAME_ERROR);
        };
        let alias = Record::read(bytes, alias)?;
        if let Data::Cname(target) = &alias.data {
            at = target.clone();
        }
        records.push(alias);
    }
    Ok(Found::Failed)
}

/// The absence of records, where the last alias, or the name itself, has none.
fn absent(
    bytes: &[u8],
    authorities: &[RecordView<'_>],
    aliases: Vec<Record>,
    name: &Name,
    is_name_error: bool,
) -> Result<Found, Flaw> {
    let of_zone = |kind| authorities.iter().find(move |one| one.kind == kind && name.is_within(&one.name));
    let authority = of_zone(Kind::SOA).map(|one| Record::read(bytes, one)).transpose()?;
    Ok(match authority {
        _ if is_name_error => Found::NoName(Absence { aliases, authority }),
        // The server does not say what becomes of the last alias.
        None if !aliases.is_empty() => Found::Data(aliases),
        // It knows others that may know, and is no resolver: RFC 2308 section 2.2.
        None if of_zone(Kind::NS).is_some() => Found::Failed,
        _ => Found::NoData(Absence { aliases, authority }),
    })
}
