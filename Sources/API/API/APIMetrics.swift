// SPDX-License-Identifier: Apache-2.0
import ServiceKit
public import Telemetry

public enum APIMetrics: Int, MetricTable {
  case httpAccepted, httpRefused, httpUnavailable, httpAborted, acknowledged, refused
  case unacknowledged, queriesAnswered, queriesFailed, bytes, connections, inFlight, keys
  case heldBytes, storedBytes, malformed, keyRequests, keyEnd, keyChanges, certificateEnd
  case reloadRefused

  /// The names of the files in `reloadRefused`.
  static let certificateFile = "certificate"
  static let keysFile = "keys"

  public var row: MetricRow {
    switch self {
    case .httpAccepted: .counted(Self.http, "accepted")
    case .httpRefused: .counted(Self.http, "refused")
    case .httpUnavailable: .counted(Self.http, "unavailable")
    case .httpAborted: .counted(Self.http, "aborted")
    case .acknowledged: .counted(Self.requests, "acknowledged")
    case .refused: .counted(Self.requests, "refused")
    case .unacknowledged: .counted(Self.requests, "unacknowledged")
    case .queriesAnswered: .counted(Self.queries, "answered")
    case .queriesFailed: .counted(Self.queries, "failed")
    case .bytes: .counter("martlet_api_received_bytes_total", "Bytes of bodies, as they came.")
    case .connections: .gauge("martlet_api_connections", "Open connections of clients.")
    case .inFlight:
      .gauge(
        "martlet_api_requests_in_flight",
        "Notification requests handed to Kafka and not acknowledged.")
    case .keys: .gauge("martlet_api_keys", "API keys that are valid now.")
    case .heldBytes:
      .gauge(
        "martlet_api_held_bytes",
        "Bytes of bodies and answers in memory; above --max-buffered-bytes requests are refused.")
    case .storedBytes:
      .gauge(
        "martlet_api_stored_bytes",
        "Bytes of verdicts in temporary files; above --max-stored-bytes requests are refused.")
    case .malformed:
      .counter(
        "martlet_api_malformed_requests_total",
        "Requests that were not HTTP/1.1 as RFC 9112 defines it, answered with 400 or the like.")
    case .keyRequests:
      .sampled(
        "martlet_api_key_requests_total", .counter, labels: ["key"], bound: "API keys",
        "Notification requests that Kafka has, by the name of their API key.")
    case .keyEnd:
      .sampled(
        "martlet_api_key_not_after_timestamp_seconds", .gauge, labels: ["key"], bound: "API keys",
        "The end of an API key; one without an end has none.")
    case .keyChanges:
      .sampled(
        "martlet_api_key_device_changes_total", .counter, labels: ["key", "change"],
        bound: "2 × API keys", event: APILog.devicesChanged,
        "Registrations and removals of devices that Kafka has, by the name of their API key.")
    case .certificateEnd:
      .sampled(
        "martlet_api_certificate_not_after_timestamp_seconds", .gauge,
        event: APILog.certificateExpires,
        "When the certificate of HTTPS expires, as Unix time; none without HTTPS.")
    case .reloadRefused:
      .sampled(
        "martlet_api_reload_refused", .gauge, labels: ["file", "app"],
        bound: "2 files × \(ReloadStatus.namedApps + 1) apps", merge: .highest,
        event: APILog.certificateInvalid,
        "1 while a changed file (certificate with its key, keys) is refused and earlier content is in use; `app` is empty."
      )
    }
  }

  private static let http = Metric(
    "martlet_api_http_requests_total", .counter, labels: ["result"], bound: "4",
    "HTTP requests by their end: answered with 2xx (accepted), with 4xx (refused), with 5xx (unavailable), or the"
      + " client went before (aborted).")
  private static let requests = Metric(
    "martlet_api_notification_requests_total", .counter, labels: ["verdict"], bound: "3",
    "Notification requests by their verdict: Kafka has them (acknowledged), they were refused, or Kafka did not"
      + " acknowledge them in time (unacknowledged).")
  private static let queries = Metric(
    "martlet_api_queries_total", .counter, labels: ["result"], bound: "2",
    "Questions to the database of device tokens, by whether it answered.")
}
