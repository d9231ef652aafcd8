// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ScheduleDecisions
import Testing

@testable import Scheduler

@Suite struct CampaignRunTests {
  @Test func `tokens that a topic has more than once are no devices without an outcome`() throws {
    var tally = CampaignReceipts.Tally()
    tally.outcomes = CampaignCounts([("delivered", 7), ("deduplicated", 3)])
    let topic = try SchedulerFixture.campaign(
      #"{"campaign":"a","request":{"app":"com.example.app","payload":{"aps":{"alert":"Sale"}}},"#
        + #""audience":{"topic":"push.audiences"}}"#)
    #expect(CampaignRun(1, 0, topic, identity: 1).evidence(tally).repeated == 3)
    // In the database each is there once: what is deduplicated was addressed again after a crash.
    let registered = try CampaignTests.campaign("a")
    #expect(CampaignRun(1, 0, registered, identity: 1).evidence(tally).repeated == 0)
  }

  @Test func `a new owner judges by no part of the outcomes that the one before knew`() throws {
    var campaign = try CampaignTests.campaign("a", more: #","stop":{"rejected_percent":2}"#)
    campaign.outcomes = CampaignCounts([("delivered", 9_900), ("rejected", 100)])
    let run = CampaignRun(1, 0, campaign, identity: 1)
    // The partition that it reads first is that of a sender in trouble.
    var tally = CampaignReceipts.Tally()
    tally.outcomes = CampaignCounts([("delivered", 900), ("rejected", 90)])
    tally.evidence = CampaignEvidence(outcomes: 990, rejected: 90)
    #expect(run.evidence(tally).problem(campaign.plan.limits) == nil)
    #expect(run.evidence(tally).ended == 10_000)
    // Receipts were removed meanwhile: there will be no more.
    tally.isCaughtUp = true
    #expect(run.evidence(tally).problem(campaign.plan.limits) != nil)
    tally.isCaughtUp = false
    tally.outcomes = CampaignCounts([("delivered", 9_700), ("rejected", 300)])
    tally.evidence = CampaignEvidence(outcomes: 10_000, rejected: 300)
    #expect(run.evidence(tally).problem(campaign.plan.limits) != nil)
  }

  @Test func `counts are saved though the clock was set back`() throws {
    let run = CampaignRun(1, 0, try CampaignTests.campaign("a"), identity: 1)
    let (first, second) = (CampaignCounts([("delivered", 1)]), CampaignCounts([("delivered", 2)]))
    let now: Int64 = 1_795_000_000_000
    run.renew(CampaignProgress(), first, now: now)
    run.keepCounts(second, now: now + 4_999)
    #expect(run.machine.isIdle)
    run.keepCounts(second, now: now - 3_600_000)
    #expect(!run.machine.isIdle)
  }
}
