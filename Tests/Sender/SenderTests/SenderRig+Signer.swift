// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Kafka
import ServiceKit
import Signer
import TestSupport

extension SenderRig {
  /// A signer on the rig's cluster, with the key that its simulator knows.
  func startSigner(_ flags: [String] = []) throws -> RunningService {
    try File.write(folder.file("signing.p8"), try key.pem())
    let credentials = """
      [{"key_id":"KEY0000001","team_id":"TEAM000001","environment":"any","apps":["*"],\
      "key_file":"signing.p8"}]
      """
    try File.write(folder.file("credentials.json"), Array(credentials.utf8))
    let given = [
      "--kafka", fixture.configuration.bootstrap, "--topic-prefix", fixture.prefix,
      "--credentials", folder.file("credentials.json"),
      "--kafka.session.timeout.ms=\(KafkaFixture.sessionMilliseconds)",
    ]
    let context = try SignerService.context(given + flags)
    let settings = try SignerService.settings(context.values)
    return try RunningService(context, settings, SignerService.run)
  }
}
