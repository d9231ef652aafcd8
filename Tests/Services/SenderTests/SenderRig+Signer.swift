// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import Kafka
import ServiceKit
import Signer
import Signing
import TestSupport

extension SenderRig {
  /// A signer on the rig's cluster, with the key that its simulator knows.
  func startSigner(_ flags: [String] = []) throws -> SignerThread {
    try File.write(folder.file("signing.p8"), try key.pem())
    let credentials = """
      [{"key_id":"KEY0000001","team_id":"TEAM000001","environment":"any","apps":["*"],\
      "key_file":"signing.p8"}]
      """
    try File.write(folder.file("credentials.json"), Array(credentials.utf8))
    let given = [
      "--kafka", fixture.configuration.bootstrap, "--topic-prefix", fixture.prefix,
      "--credentials", folder.file("credentials.json"),
      "--kafka.session.timeout.ms=\(fixture.sessionMilliseconds)",
    ]
    return try SignerThread(SignerService.context(given + flags))
  }
}

/// A signer on a thread of this process; it stops when the last reference goes.
final class SignerThread {
  private let context: ServiceContext
  private var thread: LoopThread?

  init(_ context: ServiceContext) throws {
    let settings = try SignerService.settings(context.values)
    self.context = context
    thread = try LoopThread(name: "signer") {
      do throws(ServiceFailure) {
        try SignerService.run(settings, context)
      } catch {
        context.log.failure("\(error)")
      }
    }
  }

  deinit {
    context.signals.requestStop()
    thread.take()?.join()
  }
}
