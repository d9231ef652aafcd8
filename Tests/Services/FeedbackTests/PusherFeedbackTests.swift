// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import JSON
import Kafka
import Records
import TestSupport
import Testing

@testable import Feedback

/// Answers of APNs on a feedback topic of topfreegames/pusher.
@Suite struct PusherFeedbackTests {
  private typealias Fixture = FeedbackFixture

  @Test func `answers about an app's tokens are told on its topic, and published as ever`() throws {
    let fixture = try Fixture()
    let topic = try fixture.kafka.createTopic("push-game-apns-feedbacks", partitions: 1)
    let device = Fixture.device(1)
    let other = DeviceKey(token: device.token, app: "com.other", environment: .production)
    try fixture.send([
      Fixture.feedback(device, sentAt: 5_999), Fixture.feedback(other),
      Fixture.feedback(Fixture.device(2), status: 400, reason: "BadDeviceToken", timestamp: nil),
    ])
    let service = try fixture.start(flags: ["--pusher-feedback", "\(topic)=com.example.app"])
    let records = try fixture.kafka.read(topic, count: 2)
    #expect(try fixture.published(keys: 2).count == 2)
    #expect(
      try eventually(withinMilliseconds: 20_000) {
        try fixture.committed(fixture.names.feedback) == 3
      })
    #expect(service.count("published") == 2)
    service.stop()
    #expect(try fixture.kafka.read(topic, count: 3, timeoutMilliseconds: 300).count == 2)
    let told = try records.map { try JSONParser().parse($0.value ?? "") }
    let invalid = try #require(told.first { $0["Reason"]?.string == "Unregistered" })
    #expect(invalid["DeviceToken"]?.string == device.token)
    #expect(invalid["StatusCode"]?.int == 410)
    #expect(invalid["timestamp"]?.int == 5)
    #expect(invalid["metadata"]?["deleteToken"]?.bool == true)
    #expect(told.contains { $0["Err"]?["Key"]?.string == "bad-device-token" })
  }
}
