// SPDX-License-Identifier: Apache-2.0

/// A change to a campaign under way; `paused` and `cancelled` are its values on `push.controls`.
public enum CampaignChange: String, Sendable {
  case paused, resumed, cancelled

  /// Whether the scheduler has applied it.
  public func isNoted(in progress: CampaignProgress) -> Bool {
    switch self {
    case .paused: progress.isPaused || progress.state.isOver
    case .resumed: !progress.isPaused
    case .cancelled: progress.state == .cancelled || progress.state == .stopped
    }
  }
}
