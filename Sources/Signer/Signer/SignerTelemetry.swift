// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import Synchronization
import Telemetry

/// How old the provider tokens are, for `/metrics`. The signer's thread writes.
final class SignerTelemetry: MetricSource {
  private let latest = Mutex<[MetricSample]>([])

  var samples: [MetricSample] { latest.withLock { $0 } }

  func publish(_ tokens: [(credential: String, issuedAt: Int64)]) {
    let samples = tokens.prefix(SignerMetrics.namedCredentials).map {
      MetricSample(SignerMetrics.tokenIssued, [$0.credential], Int($0.issuedAt))
    }
    latest.withLock { $0 = samples }
  }
}
