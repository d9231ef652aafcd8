// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import ServiceKit
import TestSupport
import Testing

@testable import Signer

/// A signer whose Kafka user lacks a right: it says which, is not ready, and goes on when it is granted.
@Suite(.onOwnThread) struct SignerRightsTests {
  private struct Place {
    let fixture: SignerFixture
    let user: RestrictedUser

    init() throws {
      KafkaLog.silence()
      fixture = try SignerFixture(embedded: true)
      user = RestrictedUser(
        try #require(fixture.kafka.broker), rights: KafkaRights(of: .signer, fixture.names).all)
    }

    /// A right of the signer, and how it is named when it is missing.
    func right(_ number: Int) -> (KafkaRight.Operation, KafkaRight.Resource, String) {
      let names = fixture.names
      return [
        (.read, .topic(names.providerTokens), "needs Read on topic \(names.providerTokens)"),
        (.write, .topic(names.providerTokens), "needs Write on topic \(names.providerTokens)"),
        (.read, .topic(names.tokenRequests), "needs Read on topic \(names.tokenRequests)"),
        (.read, .group(names.group(.signer)), "needs Read on group \(names.group(.signer))"),
      ][number]
    }
  }

  private func obstacles(_ signer: RunningService) -> [String] {
    signer.context.status.obstacles.map(\.reason)
  }

  @Test(arguments: 0..<4)
  func `a right that is missing at the start`(number: Int) throws {
    let place = try Place()
    let (operation, resource, words) = place.right(number)
    place.user.revoke(operation, resource)
    let signer = try place.fixture.start(place.user.flags)
    defer { signer.stop() }
    #expect(
      eventually { obstacles(signer).contains(words) },
      "\(obstacles(signer))")
    #expect(signer.counter("minted") == 0)
    place.user.grant(operation, resource)
    #expect(try place.fixture.tokens(atLeast: 1).count == 1 || signer.counter("minted") > 0)
    #expect(
      eventually(withinMilliseconds: 40_000) {
        obstacles(signer) == ["is starting"] || obstacles(signer).isEmpty
      }, "\(obstacles(signer))")
  }

  @Test(arguments: [0, 2, 3])
  func `a right that is taken away at run time`(number: Int) throws {
    let place = try Place()
    let (operation, resource, words) = place.right(number)
    let signer = try place.fixture.start(place.user.flags)
    defer { signer.stop() }
    #expect(eventually { signer.counter("minted") == 1 })
    place.user.revoke(operation, resource)
    #expect(
      eventually(withinMilliseconds: 40_000) { obstacles(signer).contains(words) },
      "\(obstacles(signer))")
    place.user.grant(operation, resource)
    #expect(
      eventually { !obstacles(signer).contains(words) },
      "\(obstacles(signer))")
    #expect(eventually(withinMilliseconds: 40_000) { signer.isOwner })
    #expect(!signer.hasEnded)
  }
}
