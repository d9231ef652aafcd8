// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// When what was asked of a campaign counts as noted.
@Suite struct CampaignChangeTests {
  private func progress(
    _ state: CampaignProgress.State, isPaused: Bool = false
  ) -> CampaignProgress {
    var progress = CampaignProgress()
    (progress.state, progress.isPaused) = (state, isPaused)
    return progress
  }

  @Test func `a pause is noted when it is held, or over`() {
    #expect(!CampaignChange.paused.isNoted(in: progress(.running)))
    #expect(CampaignChange.paused.isNoted(in: progress(.running, isPaused: true)))
    #expect(CampaignChange.paused.isNoted(in: progress(.done)))
  }

  @Test func `it goes on when it is not held`() {
    #expect(CampaignChange.resumed.isNoted(in: progress(.trial)))
    #expect(!CampaignChange.resumed.isNoted(in: progress(.trial, isPaused: true)))
  }

  @Test(arguments: CampaignProgress.State.allCases)
  func `a cancellation is noted when nothing more of it is sent`(_ state: CampaignProgress.State) {
    #expect(
      CampaignChange.cancelled.isNoted(in: progress(state))
        == (state == .cancelled || state == .stopped))
  }
}
