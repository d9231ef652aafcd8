// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LabCommand

/// The topics that a demo makes on an existing cluster.
@Suite struct DemoTopicsTests {
  @Test func `the command that removes them names the topics of this run only`() {
    #expect(
      DemoSetup.removal(of: "martlet-demo-1f.", at: "kafka:9092")
        == #"kafka-topics.sh --bootstrap-server kafka:9092 --delete --topic 'martlet-demo-1f\..*'"#)
  }
}
