-- MySQL dump 10.13
CREATE TABLE `rpush_feedback` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `device_token` varchar(64) DEFAULT NULL,
  `failed_at` datetime NOT NULL,
  `key` text,
  PRIMARY KEY (`id`),
  KEY `index_rpush_feedback_on_device_token` (`device_token`)
) ENGINE=InnoDB;
LOCK TABLES `rpush_feedback` WRITE;
INSERT INTO `rpush_feedback` VALUES (1,'00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f031','2026-11-01 10:00:00','it\'s ),( a'),(2,'00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f032','2026-11-01 10:00:00',NULL),(3,'00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f033','never','');
INSERT INTO `rpush_feedback` VALUES (4,'cc');
INSERT INTO `rpush_feedback` VALUES (5,'dd','2026-11-01 10:00:00','open
INSERT INTO user_devices (token, updated_at, locale) VALUES ('00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f034', '2026-11-01T10:00:00Z', E'a''b');
INSERT INTO `other_devices` VALUES ('ff');
