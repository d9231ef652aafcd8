// SPDX-License-Identifier: Apache-2.0
import Contract
public import ServiceKit
public import Settings

/// `martlet keys generate FOLDER`: generates keys and certificates.
public enum KeysGenerateCommand: Command {
  public struct Settings: DeclaredSettings, Sendable {
    var folder = KeyFolder("")
    var keyID = ""
    @Declared(
      .text(
        "team-id", default: "MARTLETDEV", placeholder: "ID",
        "Team of the key: ten letters and digits.")) var teamID: String

    @Declared(
      .text(
        "key-id", placeholder: "ID",
        "Id of the key, in the same form; random by default, because two keys with one id are"
          + " indistinguishable.")) private var givenKeyID: String?

    @Declared(.list("apps", default: "*", "Bundle ids that the key serves; * serves all."))
    var apps: [String]

    @Declared(
      .choice(
        "environment", of: ["any", "production", "sandbox"], default: "any",
        "Environment that the key serves.")) private var environmentName: String

    @Declared(
      .list(
        "client-certificates", placeholder: "APP,…",
        "Bundle ids to generate client certificates for, of every kind that the simulator distinguishes."
      )) var clientApps: [String]

    @Declared(.boolean("force", "Replace existing files.")) var overwrite: Bool

    fileprivate var wantedKeyID: String { givenKeyID ?? KeyFolder.Credential.freshKeyID() }
    private var environment: Environment? {
      ["production": .production, "sandbox": .sandbox][environmentName]
    }
    var credential: KeyFolder.Credential {
      KeyFolder.Credential(teamID: teamID, keyID: keyID, apps: apps, environment: environment)
    }

    public init() {}

    public mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      folder = KeyFolder(values.operands[0])
      keyID = wantedKeyID
      for (name, id) in [("team-id", teamID), ("key-id", keyID)]
      where !ProviderTokenClaims.isIdentifier(id) {
        throw values.error(name, "must be ten capital letters and digits")
      }
      // As the signer reads them.
      if let problem = AppClaims.problem(in: apps, allowsStar: true) {
        throw values.error("apps", problem)
      }
      try checkApps(clientApps, values)
    }
  }

  public static let name = LabProgram.keysGenerate.rawValue
  public static let summary = LabProgram.keysGenerate.summary
  public static let table = SettingTable(
    declaredBy: Settings.self,
    operands: .init("FOLDER", 1...1, "Folder for the files; created if it does not exist."))

  /// Throws if a bundle id cannot be part of a file name.
  private static func checkApps(_ apps: [String], _ values: SettingValues) throws(SettingErrors) {
    for app in apps {
      let isName = app.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
          || (0x61...0x7A).contains(byte) || byte == 0x2D || byte == 0x2E
      }
      guard isName, app.utf8.first != 0x2E else {
        throw values.error("client-certificates", "\(app) is not a bundle id")
      }
    }
  }

  public static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    try orFail {
      try settings.folder.generate(
        [settings.credential], clientApps: settings.clientApps, overwrite: settings.overwrite)
    }
    for name in settings.folder.fileNames([settings.credential], clientApps: settings.clientApps) {
      StandardOutput.line("\(settings.folder.path)/\(name)")
    }
  }
}
