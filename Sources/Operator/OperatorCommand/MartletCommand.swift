// SPDX-License-Identifier: Apache-2.0
public import ServiceKit

/// The operator's command, `martlet`.
public enum MartletCommand {
  public static let summary =
    "Martlet delivers push notifications from Kafka to Apple devices. This is its operator's command."

  public static var commands: [any Service.Type] {
    [
      SendCommand.self, ImportCommand.self, InspectCommand.self, TopicsCreateCommand.self,
      TopicsCheckCommand.self,
      KeysAPICommand.self,
      ChannelsCreateCommand.self, ChannelsListCommand.self, ChannelsDeleteCommand.self,
      DoctorCommand.self, StatusCommand.self, ConsoleCommand.self, TraceCommand.self,
      CanaryCommand.self, PauseCommand.self, ResumeCommand.self,
      PaceCommand.self,
      TokensShowCommand.self, TokensListCommand.self, TokensImportCommand.self,
      TokensReviveCommand.self, TokensWavesCommand.self,
      ScheduleListCommand.self, ScheduleCancelCommand.self,
      CampaignStartCommand.self, CampaignListCommand.self, CampaignCancelCommand.self,
      DeadLettersListCommand.self, DeadLettersReplayCommand.self, ReceiptsReplayCommand.self,
      CompletionCommand.self,
    ]
  }

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
          ("send", "one push, and what became of it"),
          ("import", "produce the requests of a file, one a line"),
          ("campaign start", "a request to every device of an audience"),
          ("campaign list", "campaigns and how far they are, or one as JSON"),
          ("campaign cancel", "end one; what is not sent yet is not sent"),
          ("schedule list", "requests that wait for their time, or one of them"),
          ("schedule cancel", "call one off"),
          ("receipts replay", "send again what APNs refused"),
          ("dead-letters list", "records that could not be used, or one whole"),
          ("dead-letters replay", "produce them again"),
          ("channels create", "a broadcast channel for Live Activities"),
          ("channels list", "an app's channels, or what one is"),
          ("channels delete", "delete one, for good"),
        ]),
      .init(
        "Look",
        [
          ("status", "what is ready, rates, outcomes, backlog, latency"),
          ("console", "the same as a web page, live"),
          ("trace", "the way of one notification, by its id"),
          ("inspect", "records of a topic as a table, or as JSON"),
          ("doctor", "what is wrong with settings, keys, Kafka, gateways"),
          ("canary", "a push through everything, again and again"),
        ]),
      .init(
        "Tokens",
        [
          ("tokens show", "one token: its state and history"),
          ("tokens list", "tokens of the database; with --json, an export"),
          ("tokens import", "register the tokens of a file"),
          ("tokens revive", "make invalid tokens valid again"),
          ("tokens waves", "waves of invalid tokens; believe them or not"),
        ]),
      .init(
        "Operate",
        [
          ("topics create", "make the topics on a Kafka cluster"),
          ("topics check", "compare them with what they should be"),
          ("keys api", "make a key for clients of martlet-api"),
          ("pause", "hold the pushes of an app, a lane or a campaign"),
          ("resume", "let them go on"),
          ("pace", "send no more than a rate; the rates that are set"),
          ("completion", "completion for a shell"),
        ]),
    ],
    examples: [
      "martlet up",
      "martlet send --app com.example.app --token 00fc13ad… --alert Hello",
      "martlet trace order-8812 --kafka kafka-1:9093",
      "martlet status --json",
    ],
    moved: [
      "channels read": "channels list --channel ID", "campaign show": "campaign list NAME",
      "campaign pause": "pause --campaign NAME", "campaign resume": "resume --campaign NAME",
      "dead-letters show": "dead-letters list PARTITION/OFFSET", "pace set": "pace KIND NAME RATE",
      "pace clear": "pace KIND NAME none", "schedule show": "schedule list ID",
      "tokens export": "tokens list --json", "tokens release": "tokens waves --release",
      "tokens reject": "tokens waves --reject",
    ])

  public static func main() -> Never {
    runCommands(
      program: "martlet", summary: summary, commands, sibling: LabProgram.sibling,
      overview: overview)
  }
}
