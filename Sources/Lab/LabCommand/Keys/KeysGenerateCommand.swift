// SPDX-License-Identifier: Apache-2.0
import APNS
import OperatorCommand
package import ServiceKit
package import Settings

/// `martlet keys generate FOLDER`.
package enum KeysGenerateCommand: Service {
  package struct Settings: Sendable {
    let folder: KeyFolder
    let credential: KeyFolder.Credential
    let clientApps: [String]
    let overwrite: Bool
  }

  package static let name = LabProgram.keysGenerate.rawValue
  package static let summary = LabProgram.keysGenerate.summary
  package static let reportsCounters = false
  package static let table = SettingTable(
    [
      .text(
        "team-id", default: "MARTLETDEV", placeholder: "ID",
        "Team of the key: ten letters and digits."),
      .text(
        "key-id", placeholder: "ID",
        "Id of the key, in the same form; random by default, because two keys with one id are"
          + " indistinguishable."),
      .list("apps", default: "*", "Bundle ids that the key serves; * serves all."),
      .choice(
        "environment", of: ["any", "production", "sandbox"], default: "any",
        "Environment that the key serves."),
      .list(
        "client-certificates", placeholder: "APP,…",
        "Bundle ids to generate client certificates for, of every kind that the simulator distinguishes."
      ),
      .boolean("force", "Replace existing files."),
    ], operands: .init("FOLDER", 1...1, "Folder for the files; created if it does not exist."))

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    let keyID = values.optionalText("key-id") ?? KeyFolder.Credential.freshKeyID()
    for (name, id) in [("team-id", values.text("team-id")), ("key-id", keyID)]
    where !ProviderTokenClaims.isIdentifier(id) {
      throw values.error(name, "must be ten capital letters and digits")
    }
    let environments: [String: Environment] = ["production": .production, "sandbox": .sandbox]
    return Settings(
      folder: KeyFolder(values.operands[0]),
      credential: KeyFolder.Credential(
        teamID: values.text("team-id"), keyID: keyID, apps: values.list("apps"),
        environment: environments[values.text("environment")]),
      clientApps: try clientApps(values),
      overwrite: values.boolean("force"))
  }

  /// Bundle ids that can stand in a file's name.
  private static func clientApps(_ values: SettingValues) throws(SettingErrors) -> [String] {
    let apps = values.list("client-certificates")
    for app in apps {
      let isName = app.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
          || (0x61...0x7A).contains(byte) || byte == 0x2D || byte == 0x2E
      }
      guard isName, app.utf8.first != 0x2E else {
        throw values.error("client-certificates", "\(app) is not a bundle id")
      }
    }
    return apps
  }

  package static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    do throws(KeyFolderError) {
      try settings.folder.generate(
        [settings.credential], clientApps: settings.clientApps, overwrite: settings.overwrite)
    } catch {
      throw ServiceFailure(error.description)
    }
    for name in settings.folder.fileNames(
      [settings.credential], clientApps: settings.clientApps)
    {
      StandardOutput.line("\(settings.folder.path)/\(name)")
    }
  }
}
