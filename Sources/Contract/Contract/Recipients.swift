// SPDX-License-Identifier: Apache-2.0

/// The users that a request is to, with what decides which of their devices get it.
public struct Recipients: Equatable, Sendable {
  /// The request's push type, as in `apns-push-type`.
  public var type: String
  /// Their names, 1 to `RequestRules.maximumUsers`; repeated names count once.
  public var users: [ExactText]

  /// The activity that the request is about, which requires a single user; nil for none.
  public var activity: Activity?

  public init(type: String, users: [ExactText], activity: Activity? = nil) {
    (self.type, self.users, self.activity) = (type, users, activity)
  }

  /// A Live Activity of a user, and the request's event for it.
  public struct Activity: Equatable, Sendable {
    public enum Event: String, Sendable {
      case start, update, end
      /// A start, or an update if the activity is already running.
      case startOrUpdate = "start_or_update"
    }

    public var name: ExactText
    public var event: Event

    public init(name: ExactText, event: Event) { (self.name, self.event) = (name, event) }
  }

  /// The activity that registrations must name; nil for a start, which goes to push-to-start tokens.
  public var registeredActivity: ExactText? {
    activity.flatMap { $0.event == .update || $0.event == .end ? $0.name : nil }
  }

  /// A device of one of them.
  public struct Device: Equatable, Sendable {
    public let token: String
    public var bundle: ExactText?
    public var model: ExactText?

    public init(token: String, bundle: ExactText? = nil, model: ExactText? = nil) {
      (self.token, self.bundle, self.model) = (token, bundle, model)
    }
  }

  /// The types of registrations whose tokens accept its pushes; nil stands for a registration without a type.
  public var registrationTypes: [String?] { Self.registrationTypes(for: type) }

  /// The same for a push type. An app has one token for alerts and background pushes, which is also the one of a
  /// registration without a type. Each other type has its own tokens.
  static func registrationTypes(for type: String) -> [String?] {
    switch type {
    case "alert", "background": [nil, "alert", "background"]
    default: [type]
    }
  }

  /// The most devices per user that get the request: the newest registrations, within the limit of tokens.
  public var devicesOfEach: Int { RequestRules.maximumTokens / max(1, users.count) }

  /// The devices of one user that get the request.
  ///
  /// - Parameters:
  ///   - devices: the registered and valid devices, newest registration first.
  ///   - onePerModel: whether only the newest of devices with the same model and bundle gets it: a reinstalled app has
  ///     a new token, and the old one is valid until APNs refuses it.
  public static func chosen(_ devices: [Device], onePerModel: Bool) -> [Device] {
    guard onePerModel else { return devices }
    var seen: Set<[ExactText?]> = []
    return devices.filter { $0.model == nil || seen.insert([$0.model, $0.bundle]).inserted }
  }

  /// The request for a channel, or for a single late token: its JSON with that as the first member.
  public static func request(
    _ json: some Collection<UInt8>, _ member: String, _ text: String
  ) -> [UInt8] {
    insert("\"\(member)\":\"\(text)\",", into: json)
  }

  /// The request for these devices: its JSON with their tokens as the first member.
  ///
  /// - Parameters:
  ///   - json: the request, an object with at least one member and without tokens.
  ///   - devices: at most `RequestRules.maximumTokens`.
  public static func request(_ json: some Collection<UInt8>, to devices: [Device]) -> [UInt8] {
    let tokens = devices.map { "\"\($0.token)\"" }.joined(separator: ",")
    return insert("\"tokens\":[\(tokens)],", into: json)
  }

  private static func insert(_ member: String, into json: some Collection<UInt8>) -> [UInt8] {
    guard let brace = json.firstIndex(of: UInt8(ascii: "{")) else { return Array(json) }
    return Array("{\(member)".utf8) + json[json.index(after: brace)...]
  }
}
