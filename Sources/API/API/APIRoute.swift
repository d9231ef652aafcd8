// SPDX-License-Identifier: Apache-2.0
import Access
import HTTPServer

/// A row of the table of small HTTP resources: the method of a path, what it asks of the key and of this process, the
/// bound of its body, and its handler. `APIFrame` does the rest.
struct APIRoute: Sendable {
  /// Turns a request into what is to be done. It is called twice: when the head has arrived, to refuse what is not
  /// allowed before its body comes, and when the body is complete, with the rights that the key has then. What it returns
  /// the first time is not done.
  typealias Handler = @Sendable (APIRequest) throws(Problem) -> APIAction

  struct Needs: OptionSet {
    let rawValue: UInt8

    /// It asks the database.
    static let database = Needs(rawValue: 1)
    /// It produces records.
    static let kafka = Needs(rawValue: 2)
    /// Its body may be as long as the key's limit, and be many records. It is looked at in a turn of its own, its records
    /// wait for room, and all of them are awaited.
    static let batch = Needs(rawValue: 4)
  }

  /// A right that the key's entry has to give.
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
  /// The most bytes of its JSON body; 0: a body is not looked at.
  var body = 0
  var tooLarge: @Sendable (Int) -> Problem = Problem.tooLarge
  /// Its key.
  var key: @Sendable (APIContext, StreamExchange) throws(Problem) -> APIKey = {
    (api, exchange) throws(Problem) in try api.key(exchange)
  }
  /// The wording of a refusal.
  var refusal: @Sendable (Problem) -> HTTPResponse = { $0.response }
  let handler: Handler
  private let segments: [Substring]

  /// - Parameter path: `{name}` stands for a segment, and at the end `{name...}` for the rest; neither is empty.
  init(
    _ method: String, _ path: String, _ needs: Needs = [], right: Right? = nil, body: Int = 0,
    _ handler: @escaping Handler
  ) {
    (self.method, self.needs, self.right, self.body) = (method, needs, right, body)
    self.handler = handler
    segments = Self.segments(path)
  }

  /// All, without gorush's.
  static let all =
    DevicesAPI.routes + UsersAPI.routes + OutcomesAPI.routes + PacesAPI.routes + CampaignsAPI.routes

  static func segments(_ path: String) -> [Substring] {
    path.split(separator: "/", omittingEmptySubsequences: false)
  }

  /// What a path has for the names; nil for another path.
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
