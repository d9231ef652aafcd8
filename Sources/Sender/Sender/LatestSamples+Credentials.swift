// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import ServiceKit
import Telemetry

/// How old provider tokens are and when certificates expire. The control thread publishes.
extension LatestSamples {
  /// Once a second.
  func publish(_ book: borrowing ProviderTokenBook) {
    var samples: [MetricSample] = []
    var count = 0
    // Those that were withdrawn keep their indices.
    for index in book.entries.indices
    where book.isKnown(index) && count < SenderMetrics.namedCredentials {
      count += 1
      let entry = book.entries[index]
      samples.append(
        MetricSample(
          SenderMetrics.tokenIssued, [entry.credential], Int(entry.stamp.issuedAt)))
      samples.append(
        MetricSample(
          SenderMetrics.tokenGeneration, [entry.credential], Int(clamping: entry.stamp.generation)))
    }
    publish(samples)
  }

  /// Once a minute.
  func publish(_ certificates: [ClientCertificate]) {
    let samples = certificates.prefix(SenderMetrics.namedCredentials).flatMap { entry in
      let name = String(entry.certificate.fingerprint.prefix(16))
      let onDisk = try? TLSIdentity.load(certificate: entry.path, key: entry.keyPath).certificate()
      let ends = [
        (SenderMetrics.certificateEnd, entry.certificate.expiresAt),
        (SenderMetrics.certificateFileEnd, onDisk?.expiresAt ?? entry.certificate.expiresAt),
      ]
      return ends.map { MetricSample($0, [name], Int($1)) }
    }
    publish(samples)
  }
}
