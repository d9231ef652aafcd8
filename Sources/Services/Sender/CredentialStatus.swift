// SPDX-License-Identifier: Apache-2.0
import Delivery
import ServiceKit
import Synchronization
import TLS
import Telemetry

/// How old provider tokens are and when certificates expire, for `/metrics`. The control thread writes.
final class CredentialStatus: MetricSource {
  private let latest = Mutex<[MetricSample]>([])

  var samples: [MetricSample] { latest.withLock { $0 } }

  /// Once a second.
  func publish(_ book: borrowing ProviderTokenBook) {
    var samples: [MetricSample] = []
    for index in book.entries.indices.prefix(SenderMetrics.namedCredentials)
    where book.isKnown(index) {
      let entry = book.entries[index]
      samples.append(
        MetricSample(
          SenderMetrics.tokenIssued, [entry.credential], Int(entry.stamp.issuedAt)))
      samples.append(
        MetricSample(
          SenderMetrics.tokenGeneration, [entry.credential], Int(clamping: entry.stamp.generation)))
    }
    latest.withLock { $0 = samples }
  }

  /// Once a minute.
  func publish(_ certificates: [ClientCertificate]) {
    let samples = certificates.prefix(SenderMetrics.namedCredentials).map { entry in
      MetricSample(
        SenderMetrics.certificateEnd, [String(entry.certificate.fingerprint.prefix(16))],
        Int(entry.certificate.expiresAt))
    }
    latest.withLock { $0 = samples }
  }
}
