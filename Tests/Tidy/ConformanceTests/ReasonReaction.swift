// SPDX-License-Identifier: Apache-2.0
import APNS

/// What the sender does on a reason, in words, from the decision table.
extension ReasonRule {
  var reaction: String {
    [verdict.words, connection.words, credential.words].compactMap { $0 }.joined(separator: "; ")
  }

  var places: String {
    var places: [String] = []
    if origin.contains(.device) { places.append("device") }
    if origin.contains(.broadcast) { places.append("broadcast, channels") }
    if origin.contains(.goAway) { places.append("GOAWAY") }
    return places.joined(separator: ", ")
  }
}

extension Verdict {
  fileprivate var words: String {
    switch self {
    case .delivered: "delivered"
    case .rejected(aboutToken: true): "rejected, and told to feedback"
    case .rejected(aboutToken: false): "rejected"
    case .retryElsewhere: "again at once on another connection"
    case .refreshToken: "again with a fresh provider token"
    case .retryLater(.soon): "again after seconds"
    case .retryLater(.quarterHour): "again elsewhere, then after 15 min"
    case .credentialRefused(retryOnce: true): "once more, then rejected"
    case .credentialRefused(retryOnce: false): "rejected"
    }
  }
}

extension ConnectionAction {
  fileprivate var words: String? {
    switch self {
    case .keep: nil
    case .drain: "connection drains"
    case .close: "connection drains, and closes after 2 s"
    case .closeIfRepeated: "connection drains and closes after five in a row"
    }
  }
}

extension CredentialAction {
  fileprivate var words: String? {
    switch self {
    case .none: nil
    case .refresh: "a new provider token is asked for"
    case .freeze: "the credential is held, with one probe; no new provider token for 20 min"
    case .refreshIfOld: "a new provider token if this one is old"
    case .stop: "breaker opens for the app"
    }
  }
}
