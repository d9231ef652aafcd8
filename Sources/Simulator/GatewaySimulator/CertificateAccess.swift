// SPDX-License-Identifier: Apache-2.0
public import APNS
public import TLS

/// The pushes that the certificate shown by a client permits.
public final class CertificateAccess {
  /// Every topic that it may send to.
  let topics: [[UInt8]]
  /// The topic of requests that name none; nil when the certificate has several.
  let defaultTopic: UnsafeRawBufferPointer?
  let fingerprint: String
  /// Why it is refused.
  public let problem: Reason?

  /// - Parameter isBroken: It failed verification, or somebody declared it a bad one.
  public init(_ certificate: PushCertificate, _ environment: Environment, isBroken: Bool) {
    topics = certificate.topics.map { Array($0.utf8) }
    fingerprint = certificate.fingerprint
    let serves =
      environment == .sandbox ? certificate.servesSandbox : certificate.servesProduction
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

  /// The bundle id or one of its topics is covered.
  func covers(app: UnsafeRawBufferPointer) -> Bool { allows(app) }
}
