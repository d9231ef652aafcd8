// SPDX-License-Identifier: Apache-2.0
import Access
import HTTPServer

/// A row of the table of small HTTP resources: method and path, required rights and services, limit of the body, and
/// handler. `APIFrame` does the rest.
struct APIRoute: Sendable {
  /// Decides the next action for a request. It is called twice: with the head, to refuse a request before its body
  /// arrives, and with the complete body and the key's rights at that time. The action returned the first time is not
  /// performed.
  typealias Handler = @Sendable (APIRequest) throws(Problem) -> APIAction

  struct Needs: OptionSet {
    let rawValue: UInt8

    static let database = Needs(rawValue: 1)
    static let kafka = Needs(rawValue: 2)
    /// The body may be as long as the key's limit and produce many records. It is read in a turn of its own, its
    /// records wait for room, and all of them are awaited.
    static let batch = Needs(rawValue: 4)
  }

  enum Right {
    case paces, campaigns

    func demand(_ key: APIKey) throws(Problem) {
      let (has, name) =
        switch self {
        case .paces: (key.paces, "paces")
        case .campaigns: (key.campaigns, "campaigns")
        }
      guard has else {
        throw .forbidden(
          "this key may not see or change \(name): its entry needs \"\(name)\": true")
      }
    }
  }

  let method: String
  let needs: Needs
  var right: Right?
  /// The most bytes of its JSON body; 0 to ignore a body.
  var body = 0
  /// The names that its query may have; nil to ignore what else is there.
  var arguments: [String]?
  var tooLarge: @Sendable (Int) -> Problem = { .tooLarge("the body has more than \($0) bytes") }
  var key: @Sendable (APIContext, StreamExchange) throws(Problem) -> APIKey = {
    (api, exchange) throws(Problem) in try api.key(exchange)
  }
  var refusal: @Sendable (Problem) -> HTTPResponse = { $0.response }
  let handler: Handler
  private let segments: [Substring]

  /// - Parameter path: `{name}` stands for a segment, and `{name...}` at the end for the rest; neither is empty.
  init(
    _ method: String, _ path: String, _ needs: Needs = [], right: Right? = nil, body: Int = 0,
    arguments: [String] = [], _ handler: @escaping Handler
  ) {
    (self.method, self.needs, self.right, self.body) = (method, needs, right, body)
    self.arguments = arguments
    self.handler = handler
    segments = Self.segments(path)
  }

  /// All routes except gorush's.
  static let all =
    DevicesAPI.routes + UsersAPI.routes + OutcomesAPI.routes + PacesAPI.routes + CampaignsAPI.routes

  /// The parts between slashes. A slash counts as a byte: together with a combining mark behind it, it would be another
  /// character.
  static func segments(_ path: String) -> [Substring] {
    path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { Substring($0) }
  }

  /// The values of the names in a path; nil if the path does not match.
  func values(in path: [Substring]) -> [String]? {
    guard path.count >= segments.count else { return nil }
    var values: [String] = []
    for (index, segment) in segments.enumerated() {
      let isRest = segment.hasSuffix("...}")
      let part = isRest ? path[index...].joined(separator: "/") : String(path[index])
      guard segment.first == "{" ? !part.isEmpty : part == segment else { return nil }
      if segment.first == "{" { values.append(part) }
      if isRest { return values }
    }
    return path.count == segments.count ? values : nil
  }
}
