// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
public import JSON
public import ServiceKit
public import Settings
import Signing
import Telemetry

/// `martlet keys api NAME`: a key for the HTTP API.
public enum KeysAPICommand: Service {
  public struct Settings: DeclaredSettings, Sendable {
    var name = ""

    @Declared(.list("apps", default: "*", "Apps that the key may send for; * means all."))
    fileprivate var apps: [String]

    @Declared(
      .list(
        "read",
        "Apps whose device tokens and outcomes it may read; the same apps if this is absent."))
    fileprivate var readable: [String]

    @Declared(
      .integer(
        "rate", default: 0, in: 0...10_000_000, "Most requests per second; 0 means no limit."))
    fileprivate var rate: Int

    @Declared(
      .bytes(
        "max-body", default: "0B", in: 0...1 << 30,
        "Largest body that is not NDJSON; 0B leaves it to martlet-api.")) fileprivate var maxBody:
      Int

    @Declared(
      .duration(
        "expires-in", default: "0s", in: 0...315_360_000_000,
        "How long the key is valid, such as 90d; 0s means without an end.")) fileprivate
      var expiresIn: Int64

    @Declared(
      .boolean(
        "paces",
        "The key may also see and change paces: of its apps, and with --apps '*' those of lanes and groups."
      )) fileprivate var paces: Bool

    @Declared(
      .boolean("campaigns", "The key may also start, see, pause and cancel campaigns of its apps."))
    fileprivate var campaigns: Bool

    @Declared(
      .path(
        "file", use: .output, placeholder: "FILE",
        "File of API keys to add the entry to, made if it does not exist; without it the entry is printed."
      )) var file: String?

    var entry: APIKeyEntry {
      APIKeyEntry(
        name: name, apps: apps, readable: readable.isEmpty ? nil : readable, rate: rate,
        maxBody: maxBody,
        expires: expiresIn > 0 ? WallClock.milliseconds() + expiresIn : nil, paces: paces,
        campaigns: campaigns)
    }

    public init() {}
  }

  public static let name = "keys api"
  public static let summary =
    "Makes a key for clients of martlet-api, prints it once, and adds its entry to the file of API keys. The file has"
    + " only its SHA-256."
  public static let reportsCounters = false
  public static let table = SettingTable(
    declaredBy: Settings.self,
    operands: .init("NAME", 1...1, "Whose key it is, for logs; at most 64 bytes, once in a file."))

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    var settings = Settings.reading(values)
    settings.name = values.operands[0]
    guard !settings.name.isEmpty, settings.name.utf8.count <= 64 else {
      throw SettingErrors(nil, "the NAME has not 1 to 64 bytes")
    }
    return settings
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let key = APIKeyEntry.freshKey()
    let entry = settings.entry.json(of: key)
    if let file = settings.file {
      try APIKeyEntry.add(entry, named: settings.entry.name, to: file)
    } else {
      StandardError.line(String(decoding: entry.text, as: UTF8.self))
    }
    StandardOutput.line(key)
  }
}

/// An entry of the file of API keys, before it has a key.
public struct APIKeyEntry: Sendable {
  let name: String
  let apps: [String]
  var readable: [String]?
  var rate = 0
  var maxBody = 0
  /// Milliseconds since the epoch.
  var expires: Int64?
  var paces = false
  var campaigns = false

  /// An entry without limits.
  ///
  /// - Parameter mayChange: whether it may also change paces and campaigns.
  public init(name: String, apps: [String], mayChange: Bool = false) {
    self.init(
      name: name, apps: apps, readable: nil, rate: 0, maxBody: 0, paces: mayChange,
      campaigns: mayChange)
  }

  init(
    name: String, apps: [String], readable: [String]?, rate: Int, maxBody: Int,
    expires: Int64? = nil, paces: Bool = false, campaigns: Bool = false
  ) {
    self.name = name
    self.apps = apps
    self.readable = readable
    self.rate = rate
    self.maxBody = maxBody
    self.expires = expires
    self.paces = paces
    self.campaigns = campaigns
  }

  /// 256 random bits, with a beginning by which secret scanners can know it.
  public static func freshKey() -> String {
    "martlet_" + hex((0..<32).map { _ in UInt8.random(in: .min ... .max) })
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    var text = ByteBuffer(capacity: 2 * bytes.count)
    bytes.withUnsafeBytes { text.append(hex: $0) }
    return String(decoding: text.bytes, as: UTF8.self)
  }

  /// The entry of this key.
  public func json(of key: String) -> JSONValue {
    var object = JSONObject()
    object.append("name", .string(name))
    object.append("sha256", .string(Self.hex(SHA256Digest.of(key))))
    object.append("apps", .array(apps.map { .string($0) }))
    if let readable { object.append("read", .array(readable.map { .string($0) })) }
    if rate > 0 { object.append("rate", .integer(Int64(rate))) }
    if maxBody > 0 { object.append("max_body", .integer(Int64(maxBody))) }
    if let expires { object.append("expires", .string(Timestamp.text(milliseconds: expires))) }
    if paces { object.append("paces", .bool(true)) }
    if campaigns { object.append("campaigns", .bool(true)) }
    return .object(object)
  }

  /// Adds an entry to a file, which is made if it is not there.
  public static func add(
    _ entry: JSONValue, named name: String, to file: String
  ) throws(ServiceFailure) {
    var entries: [JSONValue] = []
    if File.exists(file) {
      let root: JSONValue
      do { root = try JSONDocument(File.read(file)).root } catch {
        throw ServiceFailure("\(file): \(error); nothing was changed")
      }
      guard let list = root.array else {
        throw ServiceFailure("\(file) is not a JSON array of keys; nothing was changed")
      }
      entries = list
    }
    guard !entries.contains(where: { $0["name"]?.string == name }) else {
      throw ServiceFailure(
        "\(file) has a key \"\(name)\" already; choose another name, or remove that entry first")
    }
    let lines = (entries + [entry]).map { String(decoding: $0.text, as: UTF8.self) }
    do throws(SystemError) {
      try File.write(file, Array("[\n  \(lines.joined(separator: ",\n  "))\n]\n".utf8))
    } catch {
      throw ServiceFailure("\(error)")
    }
  }
}
