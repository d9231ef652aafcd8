// SPDX-License-Identifier: Apache-2.0
import CommandKit
public import ServiceKit

/// The operator's command, `martlet`.
public enum MartletCommand {
  public static let summary =
    "Martlet delivers push notifications from Kafka to Apple devices. This is its operator's command."

  /// In the order of `martlet --help`.
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

  /// Runs the command that the process's arguments name.
  public static func main() -> Never {
    runCommands(
      program: "martlet", summary: summary, commands, sibling: LabProgram.sibling)
  }
}
