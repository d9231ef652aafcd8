// SPDX-License-Identifier: Apache-2.0
import ServiceKit
public import Telemetry

/// The counters of the HTTP API.
enum APICounter: Int, CounterKey {
  /// Requests over HTTP, by what they were answered.
  case httpAccepted
  case httpRefused
  case httpUnavailable
  /// Clients that went before their answer.
  case httpAborted
  /// Notification requests by their verdict: one body may have many.
  case acknowledged
  case refused
  case unacknowledged
  /// Questions to the database.
  case queriesAnswered
  case queriesFailed
  case bytes
  case connections
  case inFlight
  case keys
  case heldBytes
  case storedBytes
  case malformed

  var kind: CounterKind {
    switch self {
    case .connections, .inFlight, .keys, .heldBytes, .storedBytes: .gauge
    default: .total
    }
  }

  var series: MetricSeries? {
    switch self {
    case .httpAccepted: MetricSeries(APIMetrics.http, ["accepted"])
    case .httpRefused: MetricSeries(APIMetrics.http, ["refused"])
    case .httpUnavailable: MetricSeries(APIMetrics.http, ["unavailable"])
    case .httpAborted: MetricSeries(APIMetrics.http, ["aborted"])
    case .acknowledged: MetricSeries(APIMetrics.requests, ["acknowledged"])
    case .refused: MetricSeries(APIMetrics.requests, ["refused"])
    case .unacknowledged: MetricSeries(APIMetrics.requests, ["unacknowledged"])
    case .queriesAnswered: MetricSeries(APIMetrics.queries, ["answered"])
    case .queriesFailed: MetricSeries(APIMetrics.queries, ["failed"])
    case .bytes: MetricSeries(APIMetrics.bytes)
    case .connections: MetricSeries(APIMetrics.connections)
    case .inFlight: MetricSeries(APIMetrics.inFlight)
    case .keys: MetricSeries(APIMetrics.keys)
    case .heldBytes: MetricSeries(APIMetrics.held)
    case .storedBytes: MetricSeries(APIMetrics.stored)
    case .malformed: MetricSeries(APIMetrics.malformed)
    }
  }
}

/// The metrics of the HTTP API on `/metrics`.
public enum APIMetrics {
  static let http = Metric(
    "martlet_api_http_requests_total", .counter, labels: ["result"], bound: "4",
    "HTTP requests by their end: answered with 2xx (accepted), with 4xx (refused), with 5xx (unavailable), or the"
      + " client went before (aborted).")
  static let requests = Metric(
    "martlet_api_notification_requests_total", .counter, labels: ["verdict"], bound: "3",
    "Notification requests by their verdict: Kafka has them (acknowledged), they were refused, or Kafka did not"
      + " acknowledge them in time (unacknowledged).")
  static let queries = Metric(
    "martlet_api_queries_total", .counter, labels: ["result"], bound: "2",
    "Questions to the database of device tokens, by whether it answered.")
  static let bytes = Metric(
    "martlet_api_received_bytes_total", .counter, unit: .bytes, "Bytes of bodies, as they came.")
  static let connections = Metric(
    "martlet_api_connections", .gauge, "Open connections of clients.")
  static let inFlight = Metric(
    "martlet_api_requests_in_flight", .gauge,
    "Notification requests handed to Kafka and not acknowledged.")
  static let held = Metric(
    "martlet_api_held_bytes", .gauge, unit: .bytes,
    "Bytes of bodies and answers in memory; above --max-held-bytes requests are refused.")
  static let stored = Metric(
    "martlet_api_stored_bytes", .gauge, unit: .bytes,
    "Bytes of verdicts in temporary files; above --max-stored-bytes requests are refused.")
  static let malformed = Metric(
    "martlet_api_malformed_requests_total", .counter,
    "Requests that were not HTTP/1.1 as RFC 9112 defines it, answered with 400 or the like.")
  static let keys = Metric("martlet_api_keys", .gauge, "API keys that are valid now.")

  static let keyRequests = Metric(
    "martlet_api_key_requests_total", .counter, labels: ["key"], bound: "API keys",
    "Notification requests that Kafka has, by the name of their API key.")
  static let keyEnd = Metric(
    "martlet_api_key_not_after_timestamp_seconds", .gauge, unit: .seconds, labels: ["key"],
    bound: "API keys", "The end of an API key; one without an end has none.")

  static let keyChanges = Metric(
    "martlet_api_key_device_changes_total", .counter, labels: ["key", "change"],
    bound: "2 × API keys", event: "devices changed",
    "Registrations and removals of devices that Kafka has, by the name of their API key.")
  static let certificateEnd = Metric(
    "martlet_api_certificate_not_after_timestamp_seconds", .gauge, unit: .seconds,
    event: "HTTPS certificate expires soon; renew it, its file is read again when it changes",
    "When the certificate of HTTPS expires, as Unix time; none without HTTPS.")
  /// The files by their names in `reloadRefused`.
  static let certificateFile = "certificate"
  static let keysFile = "keys"
  static let reloadRefused = Metric(
    "martlet_api_reload_refused", .gauge, labels: ["file", "app"],
    bound: "2 files × \(ReloadStatus.namedApps + 1) apps",
    merge: .highest, event: "invalid HTTPS certificate or key; keeping the previous one",
    "1 while a changed file (certificate with its key, keys) is refused and earlier content is in use; `app` is empty."
  )

  public static let all = [
    http, requests, queries, bytes, connections, inFlight, keys, held, stored, malformed,
    keyRequests, keyEnd, keyChanges, certificateEnd, reloadRefused,
  ]
}
