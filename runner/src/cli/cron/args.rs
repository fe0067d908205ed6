//! `sandhog cron` as it is written.

use clap::Subcommand;
use sandhog_model::UnixMs;

use crate::cli::when;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum CronCommand {
    /// When a schedule's next slots are; needs no runner and no settings
    ///
    /// Days on which the clocks of the zone are set are marked. An expression that cannot be read, or that can
    /// never occur, is refused with its field, its column and the reason. The syntax is in docs/cron.md.
    Next {
        /// Such as "30 2 * * MON-FRI", with seconds in front if there are six fields, or @daily, or "@every 90m"
        #[arg(value_name = "EXPR")]
        expression: String,
        /// The zone whose clocks count, by its name in the IANA database
        #[arg(long, value_name = "ZONE", default_value = "UTC")]
        tz: String,
        /// Slots after this instant, such as 2027-03-13T12:00:00-05:00 [default: now]
        #[arg(long, value_name = "RFC3339", value_parser = when::instant)]
        after: Option<UnixMs>,
        /// How many, 1 to 1000
        #[arg(short = 'n', long = "count", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
        count: u16,
    },
}
