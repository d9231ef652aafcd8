// SPDX-License-Identifier: Apache-2.0

/// The costs of one notification in each process, as `benchmarks/run` has measured them.
///
/// A sender's CPU per second at a rate R is R × `sender` + F × `request` + B × `batch`. F is how many requests bring the
/// records: one for each record when these are rare, at most one per linger time. B is how many batches they lie in
/// (`KafkaRequests.batches`): records of P partitions come in more and smaller ones the larger P is.
public struct MeasuredCosts: Sendable, Equatable {
  /// CPU microseconds of a sender per notification, but for requests and batches.
  public var sender: Double
  /// CPU microseconds of a sender for one more request that brings records, but for its batches.
  public var request: Double
  /// CPU microseconds of a sender for one more batch.
  public var batch: Double
  public var ingest: Double
  /// Per answer that says something about a device.
  public var feedback: Double
  /// Of h2load for one request in the same runs: what tells this machine's speed from another's.
  public var h2load: Double
  /// Resident MiB of a process under load.
  public var senderMiB: Double
  public var ingestMiB: Double
  /// The machine and the commit that were measured.
  public var source: String

  public init(
    sender: Double, request: Double, batch: Double, ingest: Double, feedback: Double,
    h2load: Double, senderMiB: Double, ingestMiB: Double, source: String
  ) {
    self.sender = sender
    self.request = request
    self.batch = batch
    self.ingest = ingest
    self.feedback = feedback
    self.h2load = h2load
    self.senderMiB = senderMiB
    self.ingestMiB = ingestMiB
    self.source = source
  }

  /// The costs on a machine where h2load takes another time for a request, in microseconds.
  public func scaled(h2load other: Double) -> MeasuredCosts {
    let factor = other / h2load
    var scaled = self
    scaled.sender *= factor
    scaled.request *= factor
    scaled.batch *= factor
    scaled.ingest *= factor
    scaled.feedback *= factor
    scaled.h2load = other
    return scaled
  }

  /// CPU microseconds of a sender per notification.
  ///
  /// - Parameters:
  ///   - rate: notifications per second that it gets, above 0.
  ///   - partitions: that these come from.
  ///   - linger: milliseconds that producers collect a batch for, above 0.
  public func sender(rate: Double, partitions: Int, linger: Double) -> Double {
    sender + reading(rate: rate, partitions: partitions, linger: linger) / rate
  }

  /// CPU microseconds of a sender per second for requests and batches; parameters as in `sender(rate:partitions:linger:)`.
  public func reading(rate: Double, partitions: Int, linger: Double) -> Double {
    let requests = min(rate, 1_000 / linger)
    let batches = KafkaRequests.batches(rate: rate, partitions: partitions, linger: linger)
    return requests * request + batches * batch
  }
}
