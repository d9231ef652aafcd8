// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import Telemetry
import Testing

@testable import Scheduler

extension CampaignTests {
  @Test
  func `a hundred campaigns have metrics: those that are not over first, then the newest`() throws {
    let figures = CampaignFigures()
    func campaign(_ number: Int64, _ state: CampaignProgress.State = .running) throws
      -> CampaignRecord
    {
      var campaign = try Self.campaign("c\(number)")
      campaign.at = number
      campaign.progress.state = state
      (campaign.progress.total, campaign.progress.addressed) = (10, 5)
      if state.isOver { campaign.progress.endedAt = 1_000_000 }
      return campaign
    }
    func names() -> [String] {
      figures.samples.filter { $0.metric == SchedulerMetrics.campaignState.metric }.map {
        $0.labels[0]
      }
    }
    func unlisted() -> MetricValue? {
      figures.samples.first { $0.metric == SchedulerMetrics.campaignsUnlisted.metric }?.value
    }
    #expect(names() == [] && unlisted() == .integer(0))
    var (running, over) = (try campaign(1), try campaign(2, .stopped))
    over.progress.reason = "x"
    (running.outcomes, running.rates) = (
      CampaignCounts([("delivered", 3)]),
      CampaignRates(at: 1_000_000, addressed: 1.5, outcomes: 0.5)
    )
    figures.show([over, running], now: 1_000_000)
    #expect(names() == ["c1", "c2"])
    func own(_ name: String) -> [String] { [name, Self.app, "production"] }
    func value(_ declared: SchedulerMetrics, _ labels: [String]) -> MetricValue? {
      figures.samples.first { $0.metric == declared.metric && $0.labels == labels }?.value
    }
    #expect(value(SchedulerMetrics.campaignState, own("c2") + ["stopped", "x"]) == .integer(1))
    #expect(value(SchedulerMetrics.campaignAudience, own("c1")) == .integer(10))
    #expect(value(SchedulerMetrics.campaignAddressed, own("c1")) == .integer(5))
    #expect(value(SchedulerMetrics.campaignOutcomes, own("c1") + ["delivered"]) == .integer(3))
    #expect(value(SchedulerMetrics.campaignRate, own("c1") + ["outcomes"]) == .thousandths(500))
    #expect(value(SchedulerMetrics.campaignLeft, own("c1")) == .integer(14))
    #expect(value(SchedulerMetrics.campaignLeft, own("c2")) == nil)
    figures.show([over], now: 1_000_000 + CampaignFigures.kept + 1)
    #expect(names() == [])
    figures.show(try (3..<105).map { try campaign($0) } + [over], now: 1_000_000)
    #expect(names().count == 100 && names().first == "c104" && !names().contains("c2"))
    #expect(unlisted() == .integer(3))
  }
}
