// SPDX-License-Identifier: Apache-2.0
import Contract

/// `docs/reference/reasons.md`: every reason of APNs and the sender's reaction to it, from the decision table.
enum ReasonsPage {
  static var text: String {
    head
      + ReasonRule.table.map { rule in
        "| `\(rule.name)` | \(rule.status) | \(rule.places) | \(rule.reaction) |\n"
      }.joined()
  }

  private static let head = """
    # What APNs answers, and the sender's reactions

    A reason is the `reason` in the body of an answer, or in a GOAWAY. An answer whose reason is not in this table counts by
    its status; one that is not of APNs counts for nothing. A push whose id is free may be sent again with it
    ([dispatch.md](../dispatch.md#retries): retry topics, circuit breakers, outages). `scripts/docs` writes this page from
    `Sources/Contract/Contract/APNS/ReasonRule.swift`.

    | reason | status | where | reaction |
    | --- | --- | --- | --- |

    """
}

extension ReasonRule {
  /// The sender's reaction, in words.
  fileprivate var reaction: String {
    [verdict.words, isFreed ? "its id is free" : nil, connection.words, credential.words]
      .compactMap { $0 }.joined(separator: "; ")
  }

  /// It ends a push whose `apns-id` does not count as taken.
  private var isFreed: Bool {
    if case .rejected = verdict { !takesID } else { false }
  }

  /// The kinds of answers and frames that it was seen in.
  fileprivate var places: String {
    var places: [String] = []
    if origin.contains(.device) { places.append("device") }
    if origin.contains(.broadcast) { places.append("broadcast") }
    if origin.contains(.goAway) { places.append("GOAWAY") }
    return places.joined(separator: ", ")
  }
}

extension Verdict {
  fileprivate var words: String {
    switch self {
    case .delivered: "delivered"
    case .foreign: "sent again elsewhere"
    case .rejected(aboutToken: true): "rejected, and reported to feedback"
    case .rejected(aboutToken: false): "rejected"
    case .retryElsewhere: "sent again at once on another connection"
    case .refreshToken: "sent again with a new provider token"
    case .retryLater(.throttled): "sent again after \(RetryTier.fitting(1_000).delay / 1_000) s"
    case .retryLater(.fault):
      "sent again elsewhere at once, then after \(RetryDelay.fault.seconds / 60) min"
    case .credentialRefused: "waits for a credential, as long as its lane allows"
    }
  }
}

extension ConnectionAction {
  fileprivate var words: String? {
    switch self {
    case .keep: nil
    case .drain: "connection drains"
    case .close: "connection drains, and closes after 2 s"
    case .closeIfRepeated: "connection drains, and closes, after five in a row"
    }
  }
}

extension CredentialAction {
  fileprivate var words: String? {
    switch self {
    case .none: nil
    case .refresh: "a new provider token is requested"
    case .freeze: "the credential pauses, with one probe; no new provider token for 20 min"
    case .stop: "the app's circuit breaker opens"
    }
  }
}
