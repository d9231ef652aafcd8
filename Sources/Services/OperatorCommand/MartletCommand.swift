// SPDX-License-Identifier: Apache-2.0
import CommandKit
public import ServiceKit

/// The operator's command, `martlet`.
public enum MartletCommand {
  public static let summary =
    "Martlet delivers push notifications from Kafka to Apple devices. This is its operator's command."

  public static var commands: [any Service.Type] {
    [
      ImportCommand.self, InspectCommand.self, TopicsCreateCommand.self, TopicsCheckCommand.self,
      KeysAPICommand.self,
      ChannelsCreateCommand.self, ChannelsReadCommand.self, ChannelsListCommand.self,
      ChannelsDeleteCommand.self,
      DoctorCommand.self, StatusCommand.self, ConsoleCommand.self, TraceCommand.self,
      CanaryCommand.self, PauseCommand.self, ResumeCommand.self,
      PaceCommand.self, PaceSetCommand.self, PaceClearCommand.self,
      TokensShowCommand.self, TokensListCommand.self, TokensExportCommand.self,
      TokensImportCommand.self, TokensReviveCommand.self,
      TokensWavesCommand.self, TokensReleaseCommand.self, TokensRejectCommand.self,
      ScheduleListCommand.self, ScheduleShowCommand.self, ScheduleCancelCommand.self,
      CampaignStartCommand.self, CampaignListCommand.self, CampaignShowCommand.self,
      CampaignPauseCommand.self, CampaignResumeCommand.self, CampaignCancelCommand.self,
      DeadLettersListCommand.self, DeadLettersShowCommand.self, DeadLettersReplayCommand.self,
      ReceiptsReplayCommand.self,
      CompletionCommand.self,
    ]
  }

  /// What `martlet --help` lists.
  public static let overview = CommandOverview(
    [
      .init(
        "Run",
        [
          ("up", "everything on this machine, until Ctrl-C"),
          ("demo", "generated requests through it, and what became of each"),
          ("broker", "a Kafka broker of one node, with all topics"),
          ("keys generate", "a test signing key, and the simulator's certificate"),
        ]),
      .init(
        "Send",
        [
          ("import", "produce the requests of a file, one a line"),
          ("campaign start", "a request to every device of an audience"),
          ("campaign list", "campaigns, how far they are, and their outcomes"),
          ("campaign show", "one campaign, as JSON"),
          ("campaign pause", "address no further devices for now"),
          ("campaign resume", "go on with it"),
          ("campaign cancel", "end it; what is not sent yet is not sent"),
          ("schedule list", "requests that wait for their time"),
          ("schedule show", "one of them"),
          ("schedule cancel", "call it off"),
          ("receipts replay", "send again what APNs refused"),
          ("dead-letters list", "records that could not be used"),
          ("dead-letters show", "one of them, with its payload"),
          ("dead-letters replay", "produce them again"),
          ("channels create", "a broadcast channel for Live Activities"),
          ("channels read", "its storage policy and push type"),
          ("channels list", "an app's channels"),
          ("channels delete", "delete one, for good"),
        ]),
      .init(
        "Look",
        [
          ("status", "what is ready, rates, outcomes, backlog, latency"),
          ("console", "the same as a web page, live"),
          ("trace", "the way of one notification, by its id"),
          ("inspect", "records of a topic, decoded"),
          ("doctor", "what is wrong with settings, keys, Kafka, gateways"),
          ("canary", "a push through everything, again and again"),
        ]),
      .init(
        "Tokens",
        [
          ("tokens show", "one token: its state and history"),
          ("tokens list", "tokens of the database, or a user's"),
          ("tokens export", "all of them as JSON, one a line"),
          ("tokens import", "register the tokens of a file"),
          ("tokens revive", "make invalid tokens valid again"),
          ("tokens waves", "waves of answers that call many tokens bad"),
          ("tokens release", "believe a wave"),
          ("tokens reject", "do not believe it"),
        ]),
      .init(
        "Operate",
        [
          ("topics create", "make the topics on a Kafka cluster"),
          ("topics check", "compare them with what they should be"),
          ("keys api", "make a key for clients of martlet-api"),
          ("pause", "hold an app's or a lane's pushes"),
          ("resume", "let them go on"),
          ("pace", "rates that were set"),
          ("pace set", "send no more than a rate"),
          ("pace clear", "remove a rate"),
          ("completion", "completion for a shell"),
        ]),
    ],
    examples: [
      "martlet up",
      "martlet trace order-8812 --kafka kafka-1:9093",
      "martlet status --json",
    ])

  /// Runs the command that the process's arguments name.
  public static func main() -> Never {
    runCommands(
      program: "martlet", summary: summary, commands, sibling: LabProgram.sibling,
      overview: overview)
  }
}
