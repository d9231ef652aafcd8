// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Crypto

/// The topics that a client's certificate permits.
public final class CertificateAccess {
  /// All permitted topics.
  let topics: [[UInt8]]
  /// The topic of requests without `apns-topic`; nil if the certificate has several.
  let defaultTopic: UnsafeRawBufferPointer?
  let fingerprint: String
  /// The reason why the certificate is refused.
  public let problem: Reason?

  /// - Parameter isBroken: Whether it failed verification or was declared bad.
  public init(_ certificate: PushCertificate, _ environment: Environment, isBroken: Bool) {
    topics = certificate.topics.map { Array($0.utf8) }
    fingerprint = certificate.fingerprint
    let serves = environment == .sandbox ? certificate.servesSandbox : certificate.servesProduction
    problem = isBroken ? .badCertificate : serves ? nil : .badCertificateEnvironment
    if topics.count == 1, let only = topics.first {
      let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: only.count, alignment: 1)
      memory.copyBytes(from: only)
      defaultTopic = UnsafeRawBufferPointer(memory)
    } else {
      defaultTopic = nil
    }
  }

  deinit { defaultTopic?.deallocate() }

  func allows(_ topic: UnsafeRawBufferPointer) -> Bool { topics.contains { topic.equals($0) } }
}
